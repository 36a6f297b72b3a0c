//! Names that no stage can have; the others are declared all the same.
rle::stages! {
    rollout,
    train-step,
    Train,
    type,
    r#match,
    gen,
    "evaluation",
    rollout,
    ppo_run,
    shield_prepare,
    _hidden,
    ,
    load save,
    checkpoint { save, save, empty {} },
    checkpoint,
    #[doc = "with nothing after it"]
}

mod empty {
    rle::stages! {}
}

fn main() {
    _ = (stages::rollout, stages::ppo_run, stages::checkpoint::save);
}
