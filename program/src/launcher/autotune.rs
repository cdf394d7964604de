//! Autotuning: block sizes and coarsening where the rules of the schedule do not decide.
//!
//! The first launches of a kernel with sizes of one [class](SizeClass) are trials: each runs with another block size
//! for one of its loops, or with another limit for the iterations per thread, between two timing events. No launch is
//! repeated and the host never waits: a launch that comes before the times of earlier ones are known runs as scheduled.
//! All candidates compute the same bits, because only loops are varied that combine no values.
//!
//! The search goes through one axis after the other: the block size of each loop, then the coarsening. All candidates
//! of an axis, and the best one of the earlier axes, are tried in turn, because the clock of an idle device is slow at
//! first. The least times are compared.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use quadrants_ir::abi::{CoarseningLimit, MAX_CHOSEN_BLOCK_SIZE};
use quadrants_rhi::EventOptions;
use quadrants_runtime::{self as rt, Context, Event, Stream};
use smallvec::SmallVec;

/// The trials of each candidate. The first one is not counted: the device may have to load the function.
const ROUNDS: usize = 5;
/// A candidate replaces the best one if it takes less than this share of its time, and less by [`MIN_GAIN_MS`].
const GAIN: f32 = 0.96;
/// The difference of times, in milliseconds, that events can measure.
const MIN_GAIN_MS: f32 = 0.001;
/// The block sizes.
const BLOCKS: [u32; 5] = [32, 64, 128, 256, MAX_CHOSEN_BLOCK_SIZE];
/// The most loops of a kernel whose block sizes are searched.
const MAX_LOOPS: usize = 4;
/// The most classes of sizes of a kernel. Launches with sizes of other classes run as scheduled.
const MAX_CLASSES: usize = 64;

/// What launches of a kernel share: their forms, and for each loop the power of two below its number of iterations.
pub(crate) type SizeClass = SmallVec<[u64; 8]>;

/// What is varied.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Candidate {
    /// By task; 0 where the schedule decides.
    blocks: SmallVec<[u32; 4]>,
    pub(crate) coarsening: CoarseningLimit,
}

impl Candidate {
    /// The block size of a task, unless the schedule decides.
    pub(crate) fn block(&self, task: usize) -> Option<u32> {
        self.blocks.get(task).copied().filter(|size| *size > 0)
    }

    fn with_block(&self, task: usize, size: u32) -> Self {
        let mut candidate = self.clone();
        let tasks = candidate.blocks.len().max(task + 1);
        candidate.blocks.resize(tasks, 0);
        candidate.blocks[task] = size;
        candidate
    }

    /// For the kernel cache.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let coarsening = match self.coarsening {
            CoarseningLimit::Scheduled => 0,
            CoarseningLimit::Single => 1,
            CoarseningLimit::Double => 2,
        };
        let blocks = self.blocks.iter().flat_map(|size| size.to_le_bytes());
        std::iter::once(coarsening).chain(blocks).collect()
    }

    /// A candidate of [`to_bytes`](Self::to_bytes); none where the bytes are of something else.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (coarsening, blocks) = bytes.split_first()?;
        let coarsening = match coarsening {
            0 => CoarseningLimit::Scheduled,
            1 => CoarseningLimit::Single,
            2 => CoarseningLimit::Double,
            _ => return None,
        };
        let (blocks, rest) = blocks.as_chunks();
        let blocks: SmallVec<_> = blocks.iter().map(|size| u32::from_le_bytes(*size)).collect();
        let known = blocks.iter().all(|size| *size == 0 || BLOCKS.contains(size));
        (rest.is_empty() && known).then_some(Self { blocks, coarsening })
    }
}

/// What can be varied for launches of a class of sizes.
pub(crate) struct SearchSpace {
    /// The loops whose block size is free, with the one of the schedule.
    pub(crate) loops: SmallVec<[(usize, u32); 4]>,
    /// Whether a thread executes several iterations of a loop together, and may execute fewer.
    pub(crate) coarsening: bool,
}

/// The searches of a kernel. No lock is held across a driver call.
#[derive(Default)]
pub(crate) struct Autotuner(Mutex<HashMap<SizeClass, Search>>);

/// How a launch runs.
pub(crate) enum TuningChoice {
    /// With the result of the search.
    Final(Candidate),
    /// With the result, which was not returned before.
    Found(Candidate),
    /// As a trial.
    Trial(Candidate),
    /// As scheduled, until the times of earlier trials are known.
    Scheduled,
}

impl Autotuner {
    /// How a launch of a class runs. `begin` begins the search: it returns an earlier result, or what can be varied.
    pub(crate) fn choose(
        &self,
        class: &SizeClass,
        begin: impl FnOnce() -> Result<Candidate, SearchSpace>,
    ) -> TuningChoice {
        let known = self.with(class, |search| std::mem::take(&mut search.pending));
        let Some(pending) = known else {
            if self.0.lock().len() >= MAX_CLASSES {
                return TuningChoice::Final(Candidate::default());
            }
            let begun = Search::new(begin());
            return self.0.lock().entry(class.clone()).or_insert(begun).choose();
        };
        let measured = measure(pending);
        let chosen = self.with(class, |search| (search.add_measured(measured), search.choose()));
        // Destroys the events of the trials that are not needed, without the lock.
        let (_unneeded, choice) = chosen.unwrap_or((Vec::new(), TuningChoice::Scheduled));
        choice
    }

    /// The result for a class, if its search has ended.
    pub(crate) fn result(&self, class: &SizeClass) -> Option<Candidate> {
        let ended = |search: &mut Search| search.field.is_empty().then(|| search.best.clone());
        self.with(class, ended).flatten()
    }

    /// Continues without a candidate that the device cannot run, or whose image cannot be had.
    pub(crate) fn skip(&self, class: &SizeClass, candidate: &Candidate) {
        drop(self.with(class, |search| search.skip(candidate)));
    }

    /// Adds a trial.
    fn add(&self, class: &SizeClass, trial: PendingTrial) {
        self.with(class, |search| search.pending.push(trial));
    }

    /// Ends the search of a class with what is known.
    fn abandon(&self, class: &SizeClass) {
        drop(self.with(class, Search::abandon));
    }

    fn with<T>(&self, class: &SizeClass, use_it: impl FnOnce(&mut Search) -> T) -> Option<T> {
        self.0.lock().get_mut(class).map(use_it)
    }
}

/// A trial that was launched, with the events before and after it.
struct PendingTrial {
    candidate: Candidate,
    start: Event,
    end: Event,
}

impl PendingTrial {
    /// The milliseconds between the events; none while the launch runs.
    fn elapsed(&self) -> rt::Result<Option<f32>> {
        match self.end.query()? {
            true => self.end.elapsed_ms_since(&self.start).map(Some),
            false => Ok(None),
        }
    }
}

/// The times of trials that have ended, and the trials that have not.
type MeasuredTrials = rt::Result<(Vec<(Candidate, f32)>, Vec<PendingTrial>)>;

fn measure(trials: Vec<PendingTrial>) -> MeasuredTrials {
    let (mut times, mut pending) = (Vec::new(), Vec::new());
    for trial in trials {
        match trial.elapsed()? {
            Some(time) => times.push((trial.candidate, time)),
            None => pending.push(trial),
        }
    }
    Ok((times, pending))
}

/// A launch that is measured.
pub(crate) struct Trial<'a> {
    pub(crate) tuner: &'a Autotuner,
    pub(crate) class: SizeClass,
    pub(crate) candidate: Candidate,
}

impl Trial<'_> {
    /// Measures `launch`. Where events cannot be had, the search ends; `launch` is called in any case.
    pub(crate) fn measure<T, E>(
        self,
        context: &Arc<Context>,
        stream: &Stream,
        launch: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let event = || Event::new(context, EventOptions { timing: true });
        let Self { tuner, class, candidate } = self;
        let begin = || {
            let trial = PendingTrial { candidate, start: event()?, end: event()? };
            trial.start.record(stream)?;
            Ok::<_, rt::Error>(trial)
        };
        let begun = begin();
        let launched = launch();
        let measured = begun.and_then(|trial| {
            trial.end.record(stream)?;
            Ok(trial)
        });
        match (&launched, measured) {
            (Ok(_), Ok(trial)) => tuner.add(&class, trial),
            (Ok(_), Err(error)) => {
                tracing::debug!(%error, "autotuning ends without times");
                tuner.abandon(&class);
            }
            // A launch that failed says nothing of its candidate.
            (Err(_), _) => {}
        }
        launched
    }
}

/// The search for the best candidate of a class of sizes.
struct Search {
    /// The candidates of the current axis. The first is the best one of the earlier axes. Empty at the end.
    field: Vec<Measured>,
    /// The axes that follow, the next one last.
    axes: Vec<TuningAxis>,
    /// The trials that are not measured yet.
    pending: Vec<PendingTrial>,
    best: Candidate,
    /// Whether the result is from a complete search, and was not returned yet.
    is_new: bool,
}

/// A candidate, and the milliseconds of its trials.
struct Measured {
    candidate: Candidate,
    times: SmallVec<[f32; ROUNDS]>,
}

impl Measured {
    fn new(candidate: Candidate) -> Self {
        Self { candidate, times: SmallVec::new() }
    }

    /// The least time after the first round.
    fn least(&self) -> f32 {
        self.times.iter().skip(1).copied().fold(f32::INFINITY, f32::min)
    }
}

enum TuningAxis {
    Block { task: usize, scheduled: u32 },
    Coarsening,
}

impl Search {
    fn new(begin: Result<Candidate, SearchSpace>) -> Self {
        let (field, axes, pending) = (Vec::new(), Vec::new(), Vec::new());
        let mut search = Self { field, axes, pending, best: Candidate::default(), is_new: false };
        match begin {
            Ok(known) => search.best = known,
            Err(SearchSpace { loops, coarsening }) => {
                search.axes.extend(coarsening.then_some(TuningAxis::Coarsening));
                let blocks = loops.iter().take(MAX_LOOPS).rev();
                let block = |&(task, scheduled): &_| TuningAxis::Block { task, scheduled };
                search.axes.extend(blocks.map(block));
                search.is_new = !search.axes.is_empty();
                search.begin_axis();
            }
        }
        search
    }

    /// How the next launch runs.
    fn choose(&mut self) -> TuningChoice {
        loop {
            let pending =
                |of: &Candidate| self.pending.iter().filter(|trial| trial.candidate == *of).count();
            let trials = |of: &Measured| of.times.len() + pending(&of.candidate);
            // The candidate with the fewest trials, so that all are tried in turn.
            match self.field.iter().min_by_key(|candidate| trials(candidate)) {
                Some(next) if trials(next) < ROUNDS => {
                    return TuningChoice::Trial(next.candidate.clone());
                }
                Some(_) if !self.pending.is_empty() => return TuningChoice::Scheduled,
                Some(_) => self.finish_axis(),
                None => {
                    let result = self.best.clone();
                    return match std::mem::take(&mut self.is_new) {
                        true => TuningChoice::Found(result),
                        false => TuningChoice::Final(result),
                    };
                }
            }
        }
    }

    /// Adds the times of trials. Returns the trials that are not needed.
    fn add_measured(&mut self, measured: MeasuredTrials) -> Vec<PendingTrial> {
        match measured {
            Ok((times, pending)) => {
                times.into_iter().for_each(|(of, time)| self.add_time(&of, time));
                self.pending.extend(pending);
                Vec::new()
            }
            Err(error) => {
                tracing::debug!(%error, "autotuning ends without times");
                self.abandon()
            }
        }
    }

    fn add_time(&mut self, of: &Candidate, time: f32) {
        let found = self.field.iter_mut().find(|candidate| candidate.candidate == *of);
        // The candidate may have been skipped meanwhile.
        if let Some(candidate) = found {
            candidate.times.push(time);
        }
    }

    /// Compares the candidates of the axis with the best one so far, which is the first, and begins the next axis.
    fn finish_axis(&mut self) {
        let mut all = std::mem::take(&mut self.field).into_iter();
        if let Some(first) = all.next() {
            let limit = (GAIN * first.least()).min(first.least() - MIN_GAIN_MS);
            let fastest = all.min_by(|a, b| a.least().total_cmp(&b.least()));
            self.best = match fastest {
                Some(fastest) if fastest.least() < limit => fastest.candidate,
                _ => first.candidate,
            };
        }
        self.begin_axis();
    }

    fn begin_axis(&mut self) {
        let best = &self.best;
        self.field = match self.axes.pop() {
            None => return,
            Some(TuningAxis::Block { task, scheduled }) => {
                let others = BLOCKS.iter().filter(|size| **size != scheduled);
                others.map(|size| Measured::new(best.with_block(task, *size))).collect()
            }
            Some(TuningAxis::Coarsening) => [CoarseningLimit::Single, CoarseningLimit::Double]
                .map(|coarsening| Measured::new(Candidate { coarsening, ..best.clone() }))
                .into(),
        };
        self.field.insert(0, Measured::new(best.clone()));
    }

    /// Returns the trials that are not needed, whose events are destroyed without the lock.
    fn skip(&mut self, candidate: &Candidate) -> Vec<PendingTrial> {
        self.field.retain(|other| other.candidate != *candidate);
        let pending = std::mem::take(&mut self.pending).into_iter();
        let (needed, others) = pending.partition(|trial| trial.candidate != *candidate);
        self.pending = needed;
        others
    }

    /// Ends the search. What is known then is no result: another process may find a better one. Returns the trials that
    /// are not needed.
    fn abandon(&mut self) -> Vec<PendingTrial> {
        self.field.clear();
        self.axes.clear();
        self.is_new = false;
        std::mem::take(&mut self.pending)
    }
}

/// The class of launches with these forms, whose tasks have these numbers of iterations; none for serial code.
pub(crate) fn size_class(forms: u64, sizes: impl Iterator<Item = Option<u64>>) -> SizeClass {
    let class = |iterations: Option<u64>| match iterations {
        None => 65,
        Some(iterations) => u64::from(64 - iterations.leading_zeros()),
    };
    std::iter::once(forms).chain(sizes.map(class)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search to its end, with a time for each candidate. Returns its result and the number of its trials.
    fn search(space: SearchSpace, time: impl Fn(&Candidate) -> f32) -> (Candidate, usize) {
        let mut search = Search::new(Err(space));
        let mut trials = 0;
        loop {
            match search.choose() {
                TuningChoice::Final(best) | TuningChoice::Found(best) => return (best, trials),
                TuningChoice::Trial(candidate) => {
                    search.add_time(&candidate, time(&candidate));
                    trials += 1;
                }
                TuningChoice::Scheduled => panic!("nothing is pending"),
            }
        }
    }

    fn space(loops: &[(usize, u32)], coarsening: bool) -> SearchSpace {
        SearchSpace { loops: loops.into(), coarsening }
    }

    #[test]
    fn a_search_finds_the_best_candidate_of_each_axis() {
        let time = |candidate: &Candidate| {
            let block = |task, scheduled: u32| candidate.block(task).unwrap_or(scheduled) as f32;
            let away = |size: f32, best: f32| (size / best).log2().abs();
            let coarsening =
                if candidate.coarsening == CoarseningLimit::Double { 0.0 } else { 1.0 };
            away(block(0, 256), 64.0) + away(block(2, 128), 512.0) + coarsening + 1.0
        };
        let (best, trials) = search(space(&[(0, 256), (2, 128)], true), time);
        assert_eq!([best.block(0), best.block(1), best.block(2)], [Some(64), None, Some(512)]);
        assert_eq!(best.coarsening, CoarseningLimit::Double);
        assert_eq!(trials, ROUNDS * (5 + 5 + 3));
    }

    #[test]
    fn the_schedule_stays_where_nothing_is_clearly_faster() {
        let time =
            |candidate: &Candidate| if *candidate == Candidate::default() { 1.0 } else { 0.98 };
        let (best, _) = search(space(&[(0, 256)], true), time);
        assert!(best == Candidate::default());
    }

    #[test]
    fn a_device_that_becomes_faster_does_not_mislead_the_search() {
        let mut search = Search::new(Err(space(&[(0, 256)], false)));
        let mut clock = 0.3;
        let best = loop {
            match search.choose() {
                TuningChoice::Final(best) | TuningChoice::Found(best) => break best,
                TuningChoice::Trial(candidate) => {
                    let time = if candidate.block(0).is_none() { 1.0 } else { 1.2 };
                    search.add_time(&candidate, time / clock);
                    clock = f32::min(clock + 0.05, 1.0);
                }
                TuningChoice::Scheduled => panic!("nothing is pending"),
            }
        };
        assert_eq!(best, Candidate::default());
    }

    #[test]
    fn nothing_is_tried_where_nothing_can_be_varied() {
        let (best, trials) = search(space(&[], false), |_| 1.0);
        assert!(best == Candidate::default() && trials == 0);
    }

    #[test]
    fn a_candidate_that_cannot_run_is_skipped() {
        let mut search = Search::new(Err(space(&[(0, 256)], false)));
        let mut tried = Vec::new();
        let best = loop {
            match search.choose() {
                TuningChoice::Final(best) | TuningChoice::Found(best) => break best,
                TuningChoice::Trial(candidate) if candidate.block(0) == Some(512) => {
                    drop(search.skip(&candidate));
                }
                TuningChoice::Trial(candidate) => {
                    let size = candidate.block(0).unwrap_or(256);
                    tried.push(size);
                    search.add_time(&candidate, size as f32);
                }
                TuningChoice::Scheduled => panic!("nothing is pending"),
            }
        };
        assert_eq!(best.block(0), Some(32));
        assert!(!tried.contains(&512) && tried.len() == 4 * ROUNDS);
    }

    #[test]
    fn a_search_without_times_has_no_result_to_store() {
        let mut search = Search::new(Err(space(&[(0, 256)], true)));
        assert!(matches!(search.choose(), TuningChoice::Trial(_)));
        assert!(search.abandon().is_empty());
        assert!(
            matches!(search.choose(), TuningChoice::Final(best) if best == Candidate::default())
        );
    }

    #[test]
    fn candidates_are_read_as_they_were_written() {
        let candidate = Candidate { coarsening: CoarseningLimit::Double, ..Candidate::default() };
        let candidate = candidate.with_block(2, 64);
        assert_eq!(Candidate::from_bytes(&candidate.to_bytes()), Some(candidate.clone()));
        assert_eq!(Candidate::from_bytes(&[0]), Some(Candidate::default()));
        let bad: [&[u8]; 4] = [&[], &[3], &[0, 1], &[0, 7, 0, 0, 0]];
        for bytes in bad {
            assert_eq!(Candidate::from_bytes(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn sizes_of_a_class_are_within_a_factor_of_two() {
        let class = |sizes: &[u64]| size_class(1, sizes.iter().map(|size| Some(*size)));
        assert_eq!(class(&[1024, 7]), class(&[2047, 4]));
        assert_ne!(class(&[1024]), class(&[2048]));
        assert_ne!(class(&[1024]), size_class(1, std::iter::once(None)));
    }
}
