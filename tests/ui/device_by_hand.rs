use quadrants::KernelValue;

#[derive(Clone, Copy)]
struct Liar(f32);

impl KernelValue for Liar {
    const LAYOUT: quadrants::ir::types::Type = quadrants::ir::types::Type::Vector(quadrants::ir::ScalarType::F32, 3);
}

fn main() {}
