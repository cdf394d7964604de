// Made by `cargo xtask bindgen` from the headers of HIP 5.2 (ROCm 5.2.3). Do not edit.

pub const hipStreamNonBlocking: u32 = 1;
pub const hipEventDefault: u32 = 0;
pub const hipEventDisableTiming: u32 = 2;
pub const hipHostMallocPortable: u32 = 1;
pub const hipHostMallocMapped: u32 = 2;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipDeviceArch_t {
    pub _bindgen_align: [u32; 0],
    pub _bindgen_opaque_blob: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipDeviceArch_t"][::core::mem::size_of::<hipDeviceArch_t>() - 4usize];
    [
        "Alignment of hipDeviceArch_t",
    ][::core::mem::align_of::<hipDeviceArch_t>() - 4usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipDeviceProp_t {
    pub name: [::core::ffi::c_char; 256usize],
    pub totalGlobalMem: usize,
    pub sharedMemPerBlock: usize,
    pub regsPerBlock: ::core::ffi::c_int,
    pub warpSize: ::core::ffi::c_int,
    pub maxThreadsPerBlock: ::core::ffi::c_int,
    pub maxThreadsDim: [::core::ffi::c_int; 3usize],
    pub maxGridSize: [::core::ffi::c_int; 3usize],
    pub clockRate: ::core::ffi::c_int,
    pub memoryClockRate: ::core::ffi::c_int,
    pub memoryBusWidth: ::core::ffi::c_int,
    pub totalConstMem: usize,
    pub major: ::core::ffi::c_int,
    pub minor: ::core::ffi::c_int,
    pub multiProcessorCount: ::core::ffi::c_int,
    pub l2CacheSize: ::core::ffi::c_int,
    pub maxThreadsPerMultiProcessor: ::core::ffi::c_int,
    pub computeMode: ::core::ffi::c_int,
    pub clockInstructionRate: ::core::ffi::c_int,
    pub arch: hipDeviceArch_t,
    pub concurrentKernels: ::core::ffi::c_int,
    pub pciDomainID: ::core::ffi::c_int,
    pub pciBusID: ::core::ffi::c_int,
    pub pciDeviceID: ::core::ffi::c_int,
    pub maxSharedMemoryPerMultiProcessor: usize,
    pub isMultiGpuBoard: ::core::ffi::c_int,
    pub canMapHostMemory: ::core::ffi::c_int,
    pub gcnArch: ::core::ffi::c_int,
    pub gcnArchName: [::core::ffi::c_char; 256usize],
    pub integrated: ::core::ffi::c_int,
    pub cooperativeLaunch: ::core::ffi::c_int,
    pub cooperativeMultiDeviceLaunch: ::core::ffi::c_int,
    pub maxTexture1DLinear: ::core::ffi::c_int,
    pub maxTexture1D: ::core::ffi::c_int,
    pub maxTexture2D: [::core::ffi::c_int; 2usize],
    pub maxTexture3D: [::core::ffi::c_int; 3usize],
    pub hdpMemFlushCntl: *mut ::core::ffi::c_uint,
    pub hdpRegFlushCntl: *mut ::core::ffi::c_uint,
    pub memPitch: usize,
    pub textureAlignment: usize,
    pub texturePitchAlignment: usize,
    pub kernelExecTimeoutEnabled: ::core::ffi::c_int,
    pub ECCEnabled: ::core::ffi::c_int,
    pub tccDriver: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedFunc: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedGridDim: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedBlockDim: ::core::ffi::c_int,
    pub cooperativeMultiDeviceUnmatchedSharedMem: ::core::ffi::c_int,
    pub isLargeBar: ::core::ffi::c_int,
    pub asicRevision: ::core::ffi::c_int,
    pub managedMemory: ::core::ffi::c_int,
    pub directManagedMemAccessFromHost: ::core::ffi::c_int,
    pub concurrentManagedAccess: ::core::ffi::c_int,
    pub pageableMemoryAccess: ::core::ffi::c_int,
    pub pageableMemoryAccessUsesHostPageTables: ::core::ffi::c_int,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of hipDeviceProp_t"][::core::mem::size_of::<hipDeviceProp_t>() - 792usize];
    [
        "Alignment of hipDeviceProp_t",
    ][::core::mem::align_of::<hipDeviceProp_t>() - 8usize];
    [
        "Offset of field: hipDeviceProp_t::name",
    ][::core::mem::offset_of!(hipDeviceProp_t, name) - 0usize];
    [
        "Offset of field: hipDeviceProp_t::totalGlobalMem",
    ][::core::mem::offset_of!(hipDeviceProp_t, totalGlobalMem) - 256usize];
    [
        "Offset of field: hipDeviceProp_t::sharedMemPerBlock",
    ][::core::mem::offset_of!(hipDeviceProp_t, sharedMemPerBlock) - 264usize];
    [
        "Offset of field: hipDeviceProp_t::regsPerBlock",
    ][::core::mem::offset_of!(hipDeviceProp_t, regsPerBlock) - 272usize];
    [
        "Offset of field: hipDeviceProp_t::warpSize",
    ][::core::mem::offset_of!(hipDeviceProp_t, warpSize) - 276usize];
    [
        "Offset of field: hipDeviceProp_t::maxThreadsPerBlock",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxThreadsPerBlock) - 280usize];
    [
        "Offset of field: hipDeviceProp_t::maxThreadsDim",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxThreadsDim) - 284usize];
    [
        "Offset of field: hipDeviceProp_t::maxGridSize",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxGridSize) - 296usize];
    [
        "Offset of field: hipDeviceProp_t::clockRate",
    ][::core::mem::offset_of!(hipDeviceProp_t, clockRate) - 308usize];
    [
        "Offset of field: hipDeviceProp_t::memoryClockRate",
    ][::core::mem::offset_of!(hipDeviceProp_t, memoryClockRate) - 312usize];
    [
        "Offset of field: hipDeviceProp_t::memoryBusWidth",
    ][::core::mem::offset_of!(hipDeviceProp_t, memoryBusWidth) - 316usize];
    [
        "Offset of field: hipDeviceProp_t::totalConstMem",
    ][::core::mem::offset_of!(hipDeviceProp_t, totalConstMem) - 320usize];
    [
        "Offset of field: hipDeviceProp_t::major",
    ][::core::mem::offset_of!(hipDeviceProp_t, major) - 328usize];
    [
        "Offset of field: hipDeviceProp_t::minor",
    ][::core::mem::offset_of!(hipDeviceProp_t, minor) - 332usize];
    [
        "Offset of field: hipDeviceProp_t::multiProcessorCount",
    ][::core::mem::offset_of!(hipDeviceProp_t, multiProcessorCount) - 336usize];
    [
        "Offset of field: hipDeviceProp_t::l2CacheSize",
    ][::core::mem::offset_of!(hipDeviceProp_t, l2CacheSize) - 340usize];
    [
        "Offset of field: hipDeviceProp_t::maxThreadsPerMultiProcessor",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxThreadsPerMultiProcessor) - 344usize];
    [
        "Offset of field: hipDeviceProp_t::computeMode",
    ][::core::mem::offset_of!(hipDeviceProp_t, computeMode) - 348usize];
    [
        "Offset of field: hipDeviceProp_t::clockInstructionRate",
    ][::core::mem::offset_of!(hipDeviceProp_t, clockInstructionRate) - 352usize];
    [
        "Offset of field: hipDeviceProp_t::arch",
    ][::core::mem::offset_of!(hipDeviceProp_t, arch) - 356usize];
    [
        "Offset of field: hipDeviceProp_t::concurrentKernels",
    ][::core::mem::offset_of!(hipDeviceProp_t, concurrentKernels) - 360usize];
    [
        "Offset of field: hipDeviceProp_t::pciDomainID",
    ][::core::mem::offset_of!(hipDeviceProp_t, pciDomainID) - 364usize];
    [
        "Offset of field: hipDeviceProp_t::pciBusID",
    ][::core::mem::offset_of!(hipDeviceProp_t, pciBusID) - 368usize];
    [
        "Offset of field: hipDeviceProp_t::pciDeviceID",
    ][::core::mem::offset_of!(hipDeviceProp_t, pciDeviceID) - 372usize];
    [
        "Offset of field: hipDeviceProp_t::maxSharedMemoryPerMultiProcessor",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxSharedMemoryPerMultiProcessor)
        - 376usize];
    [
        "Offset of field: hipDeviceProp_t::isMultiGpuBoard",
    ][::core::mem::offset_of!(hipDeviceProp_t, isMultiGpuBoard) - 384usize];
    [
        "Offset of field: hipDeviceProp_t::canMapHostMemory",
    ][::core::mem::offset_of!(hipDeviceProp_t, canMapHostMemory) - 388usize];
    [
        "Offset of field: hipDeviceProp_t::gcnArch",
    ][::core::mem::offset_of!(hipDeviceProp_t, gcnArch) - 392usize];
    [
        "Offset of field: hipDeviceProp_t::gcnArchName",
    ][::core::mem::offset_of!(hipDeviceProp_t, gcnArchName) - 396usize];
    [
        "Offset of field: hipDeviceProp_t::integrated",
    ][::core::mem::offset_of!(hipDeviceProp_t, integrated) - 652usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeLaunch",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeLaunch) - 656usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeMultiDeviceLaunch",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceLaunch) - 660usize];
    [
        "Offset of field: hipDeviceProp_t::maxTexture1DLinear",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxTexture1DLinear) - 664usize];
    [
        "Offset of field: hipDeviceProp_t::maxTexture1D",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxTexture1D) - 668usize];
    [
        "Offset of field: hipDeviceProp_t::maxTexture2D",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxTexture2D) - 672usize];
    [
        "Offset of field: hipDeviceProp_t::maxTexture3D",
    ][::core::mem::offset_of!(hipDeviceProp_t, maxTexture3D) - 680usize];
    [
        "Offset of field: hipDeviceProp_t::hdpMemFlushCntl",
    ][::core::mem::offset_of!(hipDeviceProp_t, hdpMemFlushCntl) - 696usize];
    [
        "Offset of field: hipDeviceProp_t::hdpRegFlushCntl",
    ][::core::mem::offset_of!(hipDeviceProp_t, hdpRegFlushCntl) - 704usize];
    [
        "Offset of field: hipDeviceProp_t::memPitch",
    ][::core::mem::offset_of!(hipDeviceProp_t, memPitch) - 712usize];
    [
        "Offset of field: hipDeviceProp_t::textureAlignment",
    ][::core::mem::offset_of!(hipDeviceProp_t, textureAlignment) - 720usize];
    [
        "Offset of field: hipDeviceProp_t::texturePitchAlignment",
    ][::core::mem::offset_of!(hipDeviceProp_t, texturePitchAlignment) - 728usize];
    [
        "Offset of field: hipDeviceProp_t::kernelExecTimeoutEnabled",
    ][::core::mem::offset_of!(hipDeviceProp_t, kernelExecTimeoutEnabled) - 736usize];
    [
        "Offset of field: hipDeviceProp_t::ECCEnabled",
    ][::core::mem::offset_of!(hipDeviceProp_t, ECCEnabled) - 740usize];
    [
        "Offset of field: hipDeviceProp_t::tccDriver",
    ][::core::mem::offset_of!(hipDeviceProp_t, tccDriver) - 744usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedFunc",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedFunc)
        - 748usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedGridDim",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedGridDim)
        - 752usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedBlockDim",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedBlockDim)
        - 756usize];
    [
        "Offset of field: hipDeviceProp_t::cooperativeMultiDeviceUnmatchedSharedMem",
    ][::core::mem::offset_of!(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedSharedMem)
        - 760usize];
    [
        "Offset of field: hipDeviceProp_t::isLargeBar",
    ][::core::mem::offset_of!(hipDeviceProp_t, isLargeBar) - 764usize];
    [
        "Offset of field: hipDeviceProp_t::asicRevision",
    ][::core::mem::offset_of!(hipDeviceProp_t, asicRevision) - 768usize];
    [
        "Offset of field: hipDeviceProp_t::managedMemory",
    ][::core::mem::offset_of!(hipDeviceProp_t, managedMemory) - 772usize];
    [
        "Offset of field: hipDeviceProp_t::directManagedMemAccessFromHost",
    ][::core::mem::offset_of!(hipDeviceProp_t, directManagedMemAccessFromHost)
        - 776usize];
    [
        "Offset of field: hipDeviceProp_t::concurrentManagedAccess",
    ][::core::mem::offset_of!(hipDeviceProp_t, concurrentManagedAccess) - 780usize];
    [
        "Offset of field: hipDeviceProp_t::pageableMemoryAccess",
    ][::core::mem::offset_of!(hipDeviceProp_t, pageableMemoryAccess) - 784usize];
    [
        "Offset of field: hipDeviceProp_t::pageableMemoryAccessUsesHostPageTables",
    ][::core::mem::offset_of!(hipDeviceProp_t, pageableMemoryAccessUsesHostPageTables)
        - 788usize];
};
impl hipError_t {
    pub const hipSuccess: hipError_t = hipError_t(0);
    pub const hipErrorInvalidValue: hipError_t = hipError_t(1);
    pub const hipErrorOutOfMemory: hipError_t = hipError_t(2);
    pub const hipErrorMemoryAllocation: hipError_t = hipError_t(2);
    pub const hipErrorNotInitialized: hipError_t = hipError_t(3);
    pub const hipErrorInitializationError: hipError_t = hipError_t(3);
    pub const hipErrorDeinitialized: hipError_t = hipError_t(4);
    pub const hipErrorProfilerDisabled: hipError_t = hipError_t(5);
    pub const hipErrorProfilerNotInitialized: hipError_t = hipError_t(6);
    pub const hipErrorProfilerAlreadyStarted: hipError_t = hipError_t(7);
    pub const hipErrorProfilerAlreadyStopped: hipError_t = hipError_t(8);
    pub const hipErrorInvalidConfiguration: hipError_t = hipError_t(9);
    pub const hipErrorInvalidPitchValue: hipError_t = hipError_t(12);
    pub const hipErrorInvalidSymbol: hipError_t = hipError_t(13);
    pub const hipErrorInvalidDevicePointer: hipError_t = hipError_t(17);
    pub const hipErrorInvalidMemcpyDirection: hipError_t = hipError_t(21);
    pub const hipErrorInsufficientDriver: hipError_t = hipError_t(35);
    pub const hipErrorMissingConfiguration: hipError_t = hipError_t(52);
    pub const hipErrorPriorLaunchFailure: hipError_t = hipError_t(53);
    pub const hipErrorInvalidDeviceFunction: hipError_t = hipError_t(98);
    pub const hipErrorNoDevice: hipError_t = hipError_t(100);
    pub const hipErrorInvalidDevice: hipError_t = hipError_t(101);
    pub const hipErrorInvalidImage: hipError_t = hipError_t(200);
    pub const hipErrorInvalidContext: hipError_t = hipError_t(201);
    pub const hipErrorContextAlreadyCurrent: hipError_t = hipError_t(202);
    pub const hipErrorMapFailed: hipError_t = hipError_t(205);
    pub const hipErrorMapBufferObjectFailed: hipError_t = hipError_t(205);
    pub const hipErrorUnmapFailed: hipError_t = hipError_t(206);
    pub const hipErrorArrayIsMapped: hipError_t = hipError_t(207);
    pub const hipErrorAlreadyMapped: hipError_t = hipError_t(208);
    pub const hipErrorNoBinaryForGpu: hipError_t = hipError_t(209);
    pub const hipErrorAlreadyAcquired: hipError_t = hipError_t(210);
    pub const hipErrorNotMapped: hipError_t = hipError_t(211);
    pub const hipErrorNotMappedAsArray: hipError_t = hipError_t(212);
    pub const hipErrorNotMappedAsPointer: hipError_t = hipError_t(213);
    pub const hipErrorECCNotCorrectable: hipError_t = hipError_t(214);
    pub const hipErrorUnsupportedLimit: hipError_t = hipError_t(215);
    pub const hipErrorContextAlreadyInUse: hipError_t = hipError_t(216);
    pub const hipErrorPeerAccessUnsupported: hipError_t = hipError_t(217);
    pub const hipErrorInvalidKernelFile: hipError_t = hipError_t(218);
    pub const hipErrorInvalidGraphicsContext: hipError_t = hipError_t(219);
    pub const hipErrorInvalidSource: hipError_t = hipError_t(300);
    pub const hipErrorFileNotFound: hipError_t = hipError_t(301);
    pub const hipErrorSharedObjectSymbolNotFound: hipError_t = hipError_t(302);
    pub const hipErrorSharedObjectInitFailed: hipError_t = hipError_t(303);
    pub const hipErrorOperatingSystem: hipError_t = hipError_t(304);
    pub const hipErrorInvalidHandle: hipError_t = hipError_t(400);
    pub const hipErrorInvalidResourceHandle: hipError_t = hipError_t(400);
    pub const hipErrorIllegalState: hipError_t = hipError_t(401);
    pub const hipErrorNotFound: hipError_t = hipError_t(500);
    pub const hipErrorNotReady: hipError_t = hipError_t(600);
    pub const hipErrorIllegalAddress: hipError_t = hipError_t(700);
    pub const hipErrorLaunchOutOfResources: hipError_t = hipError_t(701);
    pub const hipErrorLaunchTimeOut: hipError_t = hipError_t(702);
    pub const hipErrorPeerAccessAlreadyEnabled: hipError_t = hipError_t(704);
    pub const hipErrorPeerAccessNotEnabled: hipError_t = hipError_t(705);
    pub const hipErrorSetOnActiveProcess: hipError_t = hipError_t(708);
    pub const hipErrorContextIsDestroyed: hipError_t = hipError_t(709);
    pub const hipErrorAssert: hipError_t = hipError_t(710);
    pub const hipErrorHostMemoryAlreadyRegistered: hipError_t = hipError_t(712);
    pub const hipErrorHostMemoryNotRegistered: hipError_t = hipError_t(713);
    pub const hipErrorLaunchFailure: hipError_t = hipError_t(719);
    pub const hipErrorCooperativeLaunchTooLarge: hipError_t = hipError_t(720);
    pub const hipErrorNotSupported: hipError_t = hipError_t(801);
    pub const hipErrorStreamCaptureUnsupported: hipError_t = hipError_t(900);
    pub const hipErrorStreamCaptureInvalidated: hipError_t = hipError_t(901);
    pub const hipErrorStreamCaptureMerge: hipError_t = hipError_t(902);
    pub const hipErrorStreamCaptureUnmatched: hipError_t = hipError_t(903);
    pub const hipErrorStreamCaptureUnjoined: hipError_t = hipError_t(904);
    pub const hipErrorStreamCaptureIsolation: hipError_t = hipError_t(905);
    pub const hipErrorStreamCaptureImplicit: hipError_t = hipError_t(906);
    pub const hipErrorCapturedEvent: hipError_t = hipError_t(907);
    pub const hipErrorStreamCaptureWrongThread: hipError_t = hipError_t(908);
    pub const hipErrorGraphExecUpdateFailure: hipError_t = hipError_t(910);
    pub const hipErrorUnknown: hipError_t = hipError_t(999);
    pub const hipErrorRuntimeMemory: hipError_t = hipError_t(1052);
    pub const hipErrorRuntimeOther: hipError_t = hipError_t(1053);
    pub const hipErrorTbd: hipError_t = hipError_t(1054);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipError_t(pub ::core::ffi::c_uint);
impl hipDeviceAttribute_t {
    pub const hipDeviceAttributeCudaCompatibleBegin: hipDeviceAttribute_t = hipDeviceAttribute_t(
        0,
    );
    pub const hipDeviceAttributeEccEnabled: hipDeviceAttribute_t = hipDeviceAttribute_t(
        0,
    );
    pub const hipDeviceAttributeAccessPolicyMaxWindowSize: hipDeviceAttribute_t = hipDeviceAttribute_t(
        1,
    );
    pub const hipDeviceAttributeAsyncEngineCount: hipDeviceAttribute_t = hipDeviceAttribute_t(
        2,
    );
    pub const hipDeviceAttributeCanMapHostMemory: hipDeviceAttribute_t = hipDeviceAttribute_t(
        3,
    );
    pub const hipDeviceAttributeCanUseHostPointerForRegisteredMem: hipDeviceAttribute_t = hipDeviceAttribute_t(
        4,
    );
    pub const hipDeviceAttributeClockRate: hipDeviceAttribute_t = hipDeviceAttribute_t(
        5,
    );
    pub const hipDeviceAttributeComputeMode: hipDeviceAttribute_t = hipDeviceAttribute_t(
        6,
    );
    pub const hipDeviceAttributeComputePreemptionSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        7,
    );
    pub const hipDeviceAttributeConcurrentKernels: hipDeviceAttribute_t = hipDeviceAttribute_t(
        8,
    );
    pub const hipDeviceAttributeConcurrentManagedAccess: hipDeviceAttribute_t = hipDeviceAttribute_t(
        9,
    );
    pub const hipDeviceAttributeCooperativeLaunch: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10,
    );
    pub const hipDeviceAttributeCooperativeMultiDeviceLaunch: hipDeviceAttribute_t = hipDeviceAttribute_t(
        11,
    );
    pub const hipDeviceAttributeDeviceOverlap: hipDeviceAttribute_t = hipDeviceAttribute_t(
        12,
    );
    pub const hipDeviceAttributeDirectManagedMemAccessFromHost: hipDeviceAttribute_t = hipDeviceAttribute_t(
        13,
    );
    pub const hipDeviceAttributeGlobalL1CacheSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        14,
    );
    pub const hipDeviceAttributeHostNativeAtomicSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        15,
    );
    pub const hipDeviceAttributeIntegrated: hipDeviceAttribute_t = hipDeviceAttribute_t(
        16,
    );
    pub const hipDeviceAttributeIsMultiGpuBoard: hipDeviceAttribute_t = hipDeviceAttribute_t(
        17,
    );
    pub const hipDeviceAttributeKernelExecTimeout: hipDeviceAttribute_t = hipDeviceAttribute_t(
        18,
    );
    pub const hipDeviceAttributeL2CacheSize: hipDeviceAttribute_t = hipDeviceAttribute_t(
        19,
    );
    pub const hipDeviceAttributeLocalL1CacheSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        20,
    );
    pub const hipDeviceAttributeLuid: hipDeviceAttribute_t = hipDeviceAttribute_t(21);
    pub const hipDeviceAttributeLuidDeviceNodeMask: hipDeviceAttribute_t = hipDeviceAttribute_t(
        22,
    );
    pub const hipDeviceAttributeComputeCapabilityMajor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        23,
    );
    pub const hipDeviceAttributeManagedMemory: hipDeviceAttribute_t = hipDeviceAttribute_t(
        24,
    );
    pub const hipDeviceAttributeMaxBlocksPerMultiProcessor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        25,
    );
    pub const hipDeviceAttributeMaxBlockDimX: hipDeviceAttribute_t = hipDeviceAttribute_t(
        26,
    );
    pub const hipDeviceAttributeMaxBlockDimY: hipDeviceAttribute_t = hipDeviceAttribute_t(
        27,
    );
    pub const hipDeviceAttributeMaxBlockDimZ: hipDeviceAttribute_t = hipDeviceAttribute_t(
        28,
    );
    pub const hipDeviceAttributeMaxGridDimX: hipDeviceAttribute_t = hipDeviceAttribute_t(
        29,
    );
    pub const hipDeviceAttributeMaxGridDimY: hipDeviceAttribute_t = hipDeviceAttribute_t(
        30,
    );
    pub const hipDeviceAttributeMaxGridDimZ: hipDeviceAttribute_t = hipDeviceAttribute_t(
        31,
    );
    pub const hipDeviceAttributeMaxSurface1D: hipDeviceAttribute_t = hipDeviceAttribute_t(
        32,
    );
    pub const hipDeviceAttributeMaxSurface1DLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        33,
    );
    pub const hipDeviceAttributeMaxSurface2D: hipDeviceAttribute_t = hipDeviceAttribute_t(
        34,
    );
    pub const hipDeviceAttributeMaxSurface2DLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        35,
    );
    pub const hipDeviceAttributeMaxSurface3D: hipDeviceAttribute_t = hipDeviceAttribute_t(
        36,
    );
    pub const hipDeviceAttributeMaxSurfaceCubemap: hipDeviceAttribute_t = hipDeviceAttribute_t(
        37,
    );
    pub const hipDeviceAttributeMaxSurfaceCubemapLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        38,
    );
    pub const hipDeviceAttributeMaxTexture1DWidth: hipDeviceAttribute_t = hipDeviceAttribute_t(
        39,
    );
    pub const hipDeviceAttributeMaxTexture1DLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        40,
    );
    pub const hipDeviceAttributeMaxTexture1DLinear: hipDeviceAttribute_t = hipDeviceAttribute_t(
        41,
    );
    pub const hipDeviceAttributeMaxTexture1DMipmap: hipDeviceAttribute_t = hipDeviceAttribute_t(
        42,
    );
    pub const hipDeviceAttributeMaxTexture2DWidth: hipDeviceAttribute_t = hipDeviceAttribute_t(
        43,
    );
    pub const hipDeviceAttributeMaxTexture2DHeight: hipDeviceAttribute_t = hipDeviceAttribute_t(
        44,
    );
    pub const hipDeviceAttributeMaxTexture2DGather: hipDeviceAttribute_t = hipDeviceAttribute_t(
        45,
    );
    pub const hipDeviceAttributeMaxTexture2DLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        46,
    );
    pub const hipDeviceAttributeMaxTexture2DLinear: hipDeviceAttribute_t = hipDeviceAttribute_t(
        47,
    );
    pub const hipDeviceAttributeMaxTexture2DMipmap: hipDeviceAttribute_t = hipDeviceAttribute_t(
        48,
    );
    pub const hipDeviceAttributeMaxTexture3DWidth: hipDeviceAttribute_t = hipDeviceAttribute_t(
        49,
    );
    pub const hipDeviceAttributeMaxTexture3DHeight: hipDeviceAttribute_t = hipDeviceAttribute_t(
        50,
    );
    pub const hipDeviceAttributeMaxTexture3DDepth: hipDeviceAttribute_t = hipDeviceAttribute_t(
        51,
    );
    pub const hipDeviceAttributeMaxTexture3DAlt: hipDeviceAttribute_t = hipDeviceAttribute_t(
        52,
    );
    pub const hipDeviceAttributeMaxTextureCubemap: hipDeviceAttribute_t = hipDeviceAttribute_t(
        53,
    );
    pub const hipDeviceAttributeMaxTextureCubemapLayered: hipDeviceAttribute_t = hipDeviceAttribute_t(
        54,
    );
    pub const hipDeviceAttributeMaxThreadsDim: hipDeviceAttribute_t = hipDeviceAttribute_t(
        55,
    );
    pub const hipDeviceAttributeMaxThreadsPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(
        56,
    );
    pub const hipDeviceAttributeMaxThreadsPerMultiProcessor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        57,
    );
    pub const hipDeviceAttributeMaxPitch: hipDeviceAttribute_t = hipDeviceAttribute_t(
        58,
    );
    pub const hipDeviceAttributeMemoryBusWidth: hipDeviceAttribute_t = hipDeviceAttribute_t(
        59,
    );
    pub const hipDeviceAttributeMemoryClockRate: hipDeviceAttribute_t = hipDeviceAttribute_t(
        60,
    );
    pub const hipDeviceAttributeComputeCapabilityMinor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        61,
    );
    pub const hipDeviceAttributeMultiGpuBoardGroupID: hipDeviceAttribute_t = hipDeviceAttribute_t(
        62,
    );
    pub const hipDeviceAttributeMultiprocessorCount: hipDeviceAttribute_t = hipDeviceAttribute_t(
        63,
    );
    pub const hipDeviceAttributeName: hipDeviceAttribute_t = hipDeviceAttribute_t(64);
    pub const hipDeviceAttributePageableMemoryAccess: hipDeviceAttribute_t = hipDeviceAttribute_t(
        65,
    );
    pub const hipDeviceAttributePageableMemoryAccessUsesHostPageTables: hipDeviceAttribute_t = hipDeviceAttribute_t(
        66,
    );
    pub const hipDeviceAttributePciBusId: hipDeviceAttribute_t = hipDeviceAttribute_t(
        67,
    );
    pub const hipDeviceAttributePciDeviceId: hipDeviceAttribute_t = hipDeviceAttribute_t(
        68,
    );
    pub const hipDeviceAttributePciDomainID: hipDeviceAttribute_t = hipDeviceAttribute_t(
        69,
    );
    pub const hipDeviceAttributePersistingL2CacheMaxSize: hipDeviceAttribute_t = hipDeviceAttribute_t(
        70,
    );
    pub const hipDeviceAttributeMaxRegistersPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(
        71,
    );
    pub const hipDeviceAttributeMaxRegistersPerMultiprocessor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        72,
    );
    pub const hipDeviceAttributeReservedSharedMemPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(
        73,
    );
    pub const hipDeviceAttributeMaxSharedMemoryPerBlock: hipDeviceAttribute_t = hipDeviceAttribute_t(
        74,
    );
    pub const hipDeviceAttributeSharedMemPerBlockOptin: hipDeviceAttribute_t = hipDeviceAttribute_t(
        75,
    );
    pub const hipDeviceAttributeSharedMemPerMultiprocessor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        76,
    );
    pub const hipDeviceAttributeSingleToDoublePrecisionPerfRatio: hipDeviceAttribute_t = hipDeviceAttribute_t(
        77,
    );
    pub const hipDeviceAttributeStreamPrioritiesSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        78,
    );
    pub const hipDeviceAttributeSurfaceAlignment: hipDeviceAttribute_t = hipDeviceAttribute_t(
        79,
    );
    pub const hipDeviceAttributeTccDriver: hipDeviceAttribute_t = hipDeviceAttribute_t(
        80,
    );
    pub const hipDeviceAttributeTextureAlignment: hipDeviceAttribute_t = hipDeviceAttribute_t(
        81,
    );
    pub const hipDeviceAttributeTexturePitchAlignment: hipDeviceAttribute_t = hipDeviceAttribute_t(
        82,
    );
    pub const hipDeviceAttributeTotalConstantMemory: hipDeviceAttribute_t = hipDeviceAttribute_t(
        83,
    );
    pub const hipDeviceAttributeTotalGlobalMem: hipDeviceAttribute_t = hipDeviceAttribute_t(
        84,
    );
    pub const hipDeviceAttributeUnifiedAddressing: hipDeviceAttribute_t = hipDeviceAttribute_t(
        85,
    );
    pub const hipDeviceAttributeUuid: hipDeviceAttribute_t = hipDeviceAttribute_t(86);
    pub const hipDeviceAttributeWarpSize: hipDeviceAttribute_t = hipDeviceAttribute_t(
        87,
    );
    pub const hipDeviceAttributeMemoryPoolsSupported: hipDeviceAttribute_t = hipDeviceAttribute_t(
        88,
    );
    pub const hipDeviceAttributeCudaCompatibleEnd: hipDeviceAttribute_t = hipDeviceAttribute_t(
        9999,
    );
    pub const hipDeviceAttributeAmdSpecificBegin: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10000,
    );
    pub const hipDeviceAttributeClockInstructionRate: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10000,
    );
    pub const hipDeviceAttributeArch: hipDeviceAttribute_t = hipDeviceAttribute_t(10001);
    pub const hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10002,
    );
    pub const hipDeviceAttributeGcnArch: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10003,
    );
    pub const hipDeviceAttributeGcnArchName: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10004,
    );
    pub const hipDeviceAttributeHdpMemFlushCntl: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10005,
    );
    pub const hipDeviceAttributeHdpRegFlushCntl: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10006,
    );
    pub const hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10007,
    );
    pub const hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10008,
    );
    pub const hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10009,
    );
    pub const hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10010,
    );
    pub const hipDeviceAttributeIsLargeBar: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10011,
    );
    pub const hipDeviceAttributeAsicRevision: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10012,
    );
    pub const hipDeviceAttributeCanUseStreamWaitValue: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10013,
    );
    pub const hipDeviceAttributeImageSupport: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10014,
    );
    pub const hipDeviceAttributePhysicalMultiProcessorCount: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10015,
    );
    pub const hipDeviceAttributeFineGrainSupport: hipDeviceAttribute_t = hipDeviceAttribute_t(
        10016,
    );
    pub const hipDeviceAttributeAmdSpecificEnd: hipDeviceAttribute_t = hipDeviceAttribute_t(
        19999,
    );
    pub const hipDeviceAttributeVendorSpecificBegin: hipDeviceAttribute_t = hipDeviceAttribute_t(
        20000,
    );
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipDeviceAttribute_t(pub ::core::ffi::c_uint);
pub type hipDeviceptr_t = *mut ::core::ffi::c_void;
pub type hipDevice_t = ::core::ffi::c_int;
#[repr(C)]
#[derive(Debug)]
pub struct ihipStream_t {
    _unused: [u8; 0],
}
pub type hipStream_t = *mut ihipStream_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModule_t {
    _unused: [u8; 0],
}
pub type hipModule_t = *mut ihipModule_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipModuleSymbol_t {
    _unused: [u8; 0],
}
pub type hipFunction_t = *mut ihipModuleSymbol_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipMemPoolHandle_t {
    _unused: [u8; 0],
}
pub type hipMemPool_t = *mut ihipMemPoolHandle_t;
#[repr(C)]
#[derive(Debug)]
pub struct ihipEvent_t {
    _unused: [u8; 0],
}
pub type hipEvent_t = *mut ihipEvent_t;
impl hipMemPoolAttr {
    pub const hipMemPoolReuseFollowEventDependencies: hipMemPoolAttr = hipMemPoolAttr(1);
    pub const hipMemPoolReuseAllowOpportunistic: hipMemPoolAttr = hipMemPoolAttr(2);
    pub const hipMemPoolReuseAllowInternalDependencies: hipMemPoolAttr = hipMemPoolAttr(
        3,
    );
    pub const hipMemPoolAttrReleaseThreshold: hipMemPoolAttr = hipMemPoolAttr(4);
    pub const hipMemPoolAttrReservedMemCurrent: hipMemPoolAttr = hipMemPoolAttr(5);
    pub const hipMemPoolAttrReservedMemHigh: hipMemPoolAttr = hipMemPoolAttr(6);
    pub const hipMemPoolAttrUsedMemCurrent: hipMemPoolAttr = hipMemPoolAttr(7);
    pub const hipMemPoolAttrUsedMemHigh: hipMemPoolAttr = hipMemPoolAttr(8);
}
#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct hipMemPoolAttr(pub ::core::ffi::c_uint);
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of dim3"][::core::mem::size_of::<dim3>() - 12usize];
    ["Alignment of dim3"][::core::mem::align_of::<dim3>() - 4usize];
    ["Offset of field: dim3::x"][::core::mem::offset_of!(dim3, x) - 0usize];
    ["Offset of field: dim3::y"][::core::mem::offset_of!(dim3, y) - 4usize];
    ["Offset of field: dim3::z"][::core::mem::offset_of!(dim3, z) - 8usize];
};
#[repr(C)]
#[derive(Debug)]
pub struct ihipGraph {
    _unused: [u8; 0],
}
pub type hipGraph_t = *mut ihipGraph;
#[repr(C)]
#[derive(Debug)]
pub struct hipGraphNode {
    _unused: [u8; 0],
}
pub type hipGraphNode_t = *mut hipGraphNode;
#[repr(C)]
#[derive(Debug)]
pub struct hipGraphExec {
    _unused: [u8; 0],
}
pub type hipGraphExec_t = *mut hipGraphExec;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct hipKernelNodeParams {
    pub blockDim: dim3,
    pub extra: *mut *mut ::core::ffi::c_void,
    pub func: *mut ::core::ffi::c_void,
    pub gridDim: dim3,
    pub kernelParams: *mut *mut ::core::ffi::c_void,
    pub sharedMemBytes: ::core::ffi::c_uint,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of hipKernelNodeParams",
    ][::core::mem::size_of::<hipKernelNodeParams>() - 64usize];
    [
        "Alignment of hipKernelNodeParams",
    ][::core::mem::align_of::<hipKernelNodeParams>() - 8usize];
    [
        "Offset of field: hipKernelNodeParams::blockDim",
    ][::core::mem::offset_of!(hipKernelNodeParams, blockDim) - 0usize];
    [
        "Offset of field: hipKernelNodeParams::extra",
    ][::core::mem::offset_of!(hipKernelNodeParams, extra) - 16usize];
    [
        "Offset of field: hipKernelNodeParams::func",
    ][::core::mem::offset_of!(hipKernelNodeParams, func) - 24usize];
    [
        "Offset of field: hipKernelNodeParams::gridDim",
    ][::core::mem::offset_of!(hipKernelNodeParams, gridDim) - 32usize];
    [
        "Offset of field: hipKernelNodeParams::kernelParams",
    ][::core::mem::offset_of!(hipKernelNodeParams, kernelParams) - 48usize];
    [
        "Offset of field: hipKernelNodeParams::sharedMemBytes",
    ][::core::mem::offset_of!(hipKernelNodeParams, sharedMemBytes) - 56usize];
};
