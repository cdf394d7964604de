//! The tests that all GPU backends share, and tests of the CUDA backend.

#[path = "../../conformance/fixtures/gpu_backend/mod.rs"]
mod gpu_backend;
#[path = "../../conformance/fixtures/selected.rs"]
mod selected;

#[path = "suite/context.rs"]
mod context;
#[path = "suite/only_cuda.rs"]
mod only_cuda;

fn is_selected() -> bool {
    selected::is_selected("cuda")
}

/// What the shared tests need to know about the backend.
mod backend {
    use quadrants_conformance::{AddKernel, rhi::Image};
    pub(crate) use quadrants_driver_sim::cuda_symbol as simulated_symbol;
    pub(crate) use quadrants_rhi_cuda::{
        LIBRARY_VARIABLE, driver, driver_from_path, driver_from_symbols, symbols,
    };

    pub(crate) const NAME: &str = "cuda";
    pub(crate) const ARCH_PREFIX: &str = "sm_";
    pub(crate) const OLD_VERSION: (i32, &str) = (10_020, "10.2");
    pub(crate) const NO_DEVICE: &[i32] = &[100];
    pub(crate) const OUT_OF_MEMORY: &str = "CUDA_ERROR_OUT_OF_MEMORY";
    pub(crate) const ADD_KERNEL_NODE: &[&str] = &["add_kernel_node", "add_kernel_node_v1"];

    pub(crate) fn hardware_kernel() -> Option<AddKernel> {
        Some(AddKernel {
            image: Image::Binary(ADD.as_bytes()),
            function: "add".into(),
            args: |p, n, k| vec![p, n, u64::from(k)],
            block_dim: 128,
        })
    }

    /// A kernel that takes the argument block `[p, n, k]` by value.
    const ADD: &str = "
.version 6.5
.target sm_75
.address_size 64

.visible .entry add(.param .align 8 .b8 block[24])
{
    .reg .pred %outside;
    .reg .b32 %add, %block_index, %block_size, %thread, %word;
    .reg .b64 %address, %count, %index, %lane;

    ld.param.u64 %address, [block];
    ld.param.u64 %count, [block+8];
    ld.param.u32 %add, [block+16];
    mov.u32 %block_index, %ctaid.x;
    mov.u32 %block_size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %index, %block_index, %block_size;
    cvt.u64.u32 %lane, %thread;
    add.u64 %index, %index, %lane;
    setp.ge.u64 %outside, %index, %count;
    @%outside bra done;
    shl.b64 %index, %index, 2;
    add.u64 %address, %address, %index;
    cvta.to.global.u64 %address, %address;
    ld.global.u32 %word, [%address];
    add.u32 %word, %word, %add;
    st.global.u32 [%address], %word;
done:
    ret;
}
";
}
