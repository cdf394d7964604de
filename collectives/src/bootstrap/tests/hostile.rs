//! Peers that do not follow the protocol.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::{sleep, spawn};
use std::time::Duration;

use super::{at_once, config, join_later, joined, lead_later, listener, refused};
use crate::bootstrap::Error;
use crate::bootstrap::Rejection;
use crate::bootstrap::frame::encode;
use crate::bootstrap::handshake::{self, Hello, rejected_body};

fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).unwrap()
}

#[test]
fn silent_slow_and_garbage_connections_disturb_nobody() {
    let (listener, port) = listener();
    // More than rank 0 keeps, so that it closes the oldest.
    let silent: Vec<_> = (0..100).map(|_| connect(port)).collect();
    let leader = lead_later(listener, config(0, 3, port));
    let first = join_later(config(1, 3, port));
    let slow = spawn(move || {
        let mut stream = connect(port);
        let hello = encode(handshake::HELLO, &Hello::new(2, 3).unwrap().body());
        for byte in &hello[..20] {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            sleep(Duration::from_millis(2));
        }
    });
    let hello = Hello::new(2, 3).unwrap();
    let hello = encode(handshake::HELLO, &hello.body());
    let mut garbage: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0; 10_000],
        vec![255; 10_000],
        encode(handshake::PROOF, &[0; 32]),
        encode(handshake::WELCOME, &[0; 32]),
        // A hello twice, and a proof of a wrong length.
        [&hello[..], &hello].concat(),
        [&hello[..], &encode(handshake::PROOF, &[])].concat(),
        encode(handshake::HELLO, b"qdrntdzv"),
    ];
    for bytes in garbage.drain(..) {
        let mut stream = connect(port);
        let _ = stream.write_all(&bytes);
        // Rank 0 closes it.
        let mut answer = vec![];
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let ended = stream.read_to_end(&mut answer);
        assert!(!matches!(ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
    }
    let last = join_later(config(2, 3, port));
    let groups = [joined(leader), joined(first), joined(last)];
    at_once(&groups, |group| group.barrier().unwrap());
    assert!(groups[0].rejected() >= 100, "{}", groups[0].rejected());
    slow.join().unwrap();
    drop(silent);
}

#[test]
fn another_version_is_rejected() {
    let (listener, port) = listener();
    let leader = lead_later(listener, config(0, 2, port));
    let mut stream = connect(port);
    let hello = Hello { version: 99, ..Hello::new(1, 2).unwrap() };
    stream.write_all(&encode(handshake::HELLO, &hello.body())).unwrap();
    let mut answer = vec![];
    stream.read_to_end(&mut answer).unwrap();
    let reason = Rejection::Version { supported: handshake::VERSION };
    assert_eq!(answer, encode(handshake::REJECTED, &rejected_body(reason)));
    let groups = [joined(join_later(config(1, 2, port))), joined(leader)];
    assert_eq!(groups[1].rejected(), 1);
}

/// What a rank reports if something else answers in place of rank 0.
fn answered(answers: &[(u8, &[u8])]) -> Error {
    let (listener, port) = listener();
    let mut config = config(1, 2, port);
    config.timeout = Duration::from_millis(400);
    let other = join_later(config);
    let (mut stream, _) = listener.accept().unwrap();
    for (kind, body) in answers {
        let _ = stream.read(&mut [0; 256]);
        stream.write_all(&encode(*kind, body)).unwrap();
    }
    refused(other)
}

#[test]
fn an_impostor_of_rank_0_is_noticed() {
    for answers in [
        &[(handshake::CHALLENGE, &[1; 32][..]), (handshake::WELCOME, &[0; 32])][..],
        &[(handshake::CHALLENGE, &[1; 32]), (handshake::CHALLENGE, &[1; 32])],
        &[(handshake::CHALLENGE, &[1; 31])],
        &[(handshake::CHALLENGE, &[1; 65])],
        &[(handshake::REJECTED, &[77; 5])],
        &[(b'H', b"")],
    ] {
        let error = answered(answers);
        assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    }
    let error = answered(&[]);
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}
