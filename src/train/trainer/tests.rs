use super::*;
use crate::train::{Best, Mode};
use std::cell::RefCell;
use std::fs;
use std::io;

type Batches = Vec<io::Result<f64>>;

fn quiet<'a>(epochs: usize) -> Trainer<'a, Vec<f64>> {
    Trainer::new(epochs).output(Output::silent())
}

/// Losses that are the batches themselves; the state is what was seen.
fn fit(
    trainer: &mut Trainer<'_, Vec<f64>>,
    batches: impl FnMut(u64) -> Batches,
) -> Result<Ended, TrainError> {
    let mut seen = Vec::new();
    trainer.fit(&mut seen, batches, |seen, batch| {
        seen.push(batch);
        Ok(batch)
    })
}

fn constant(value: f64) -> impl FnMut(u64) -> Batches {
    move |_| vec![Ok(value)]
}

#[test]
fn the_loss_of_an_epoch_is_weighted_by_samples() {
    let mut trainer = quiet(1);
    let batches = |_| [Ok::<_, io::Error>((1.0_f32, 32)), Ok((4.0, 16))];
    trainer
        .fit(&mut Vec::new(), batches, |_, loss| Ok(loss))
        .unwrap();
    assert_eq!(trainer.history().last("loss"), Some(2.0));
}

#[test]
fn callbacks_see_every_batch_and_epoch_in_order() {
    let log = RefCell::new(Vec::new());
    let mut trainer = quiet(2)
        .after_batch(|seen: &mut Vec<f64>, batch| {
            assert_eq!(seen.last(), Some(&batch.loss.mean));
            log.borrow_mut()
                .push(format!("{}.{}", batch.epoch, batch.index));
            Ok(())
        })
        .after_epoch(|_, epoch| {
            epoch.record("double", 2.0 * epoch.get("loss").unwrap());
            Ok(())
        })
        .after_epoch(|_, epoch| {
            let (number, batches) = (epoch.number(), epoch.batches());
            log.borrow_mut()
                .push(format!("{number}: {batches} {:?}", epoch.metrics()));
            Ok(())
        });
    let ended = fit(&mut trainer, |epoch| vec![Ok(epoch as f64), Ok(0.0)]).unwrap();
    assert_eq!(ended, Ended::AllEpochs);
    assert_eq!(
        trainer.history().to_csv(),
        "epoch,loss,double\n1,0.5,1.0\n2,1.0,2.0\n"
    );
    drop(trainer);
    let expected = [
        "1.0",
        "1.1",
        "1: 2 [(\"loss\", 0.5), (\"double\", 1.0)]",
        "2.0",
        "2.1",
        "2: 2 [(\"loss\", 1.0), (\"double\", 2.0)]",
    ];
    assert_eq!(log.into_inner(), expected);
}

#[test]
fn a_callback_may_end_it() {
    let mut trainer = quiet(9).after_epoch(|_, epoch| {
        if epoch.number() == 3 {
            epoch.stop();
        }
        Ok(())
    });
    assert_eq!(
        fit(&mut trainer, constant(1.0)).unwrap(),
        Ended::Asked { epoch: 3 }
    );
    assert_eq!(trainer.history().len(), 3);
    // Called again, it goes on.
    assert_eq!(fit(&mut trainer, constant(1.0)).unwrap(), Ended::AllEpochs);
    assert_eq!(trainer.history().last_epoch(), Some(9));
}

#[test]
fn errors_say_where_they_happened_and_what_is_complete_stays() {
    let message = |trainer: &mut Trainer<'_, Vec<f64>>, batches: &dyn Fn(u64) -> Batches| {
        let error = fit(trainer, batches).unwrap_err();
        assert_eq!(error.epoch(), 2);
        error.to_string()
    };
    let third = |value: fn() -> io::Result<f64>| {
        move |epoch| match epoch {
            2 => vec![Ok(1.0), Ok(1.0), value()],
            _ => vec![Ok(1.0)],
        }
    };
    let damaged = third(|| Err(io::Error::other("the file is damaged")));
    let mut trainer = quiet(3);
    assert_eq!(
        message(&mut trainer, &damaged),
        "epoch 2, batch 2: the file is damaged"
    );
    assert_eq!(trainer.history().last_epoch(), Some(1));
    assert_eq!(
        message(&mut trainer, &third(|| Ok(f64::NAN))),
        "epoch 2, batch 2: the loss is NaN"
    );
    assert_eq!(
        message(&mut trainer, &|_| vec![]),
        "epoch 2: there are no batches, or none with a sample"
    );
    assert_eq!(fit(&mut trainer, constant(1.0)).unwrap(), Ended::AllEpochs);

    let mut trainer = quiet(3).after_epoch(|_, epoch| match epoch.number() {
        2 => Err("no test data".into()),
        _ => Ok(()),
    });
    assert_eq!(
        message(&mut trainer, &|_| vec![Ok(1.0)]),
        "epoch 2: no test data"
    );
}

#[test]
fn a_metric_that_nobody_records_is_told_after_the_first_epoch() {
    let mut trainer = quiet(3).stop_early("accuracy", EarlyStopping::new(Mode::Max, 2));
    let error = fit(&mut trainer, constant(1.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "epoch 1: no metric `accuracy` was recorded; there are [\"loss\"]"
    );
}

#[test]
fn a_resumed_training_ends_where_one_in_a_piece_does() {
    let folder = std::env::temp_dir().join(format!("pullback-resume-{}", std::process::id()));
    let losses = [5.0, 3.0, 4.0, 2.0, 2.5, 2.2, 2.1, 1.0];
    let batches = |epoch: u64| vec![Ok(losses[usize::try_from(epoch).unwrap() - 1])];
    let trainer = |name: &str| {
        let best = Checkpoints::new(folder.join(name).join("best")).best(Mode::Min);
        quiet(8)
            .stop_early("loss", EarlyStopping::new(Mode::Min, 3))
            .history_csv(folder.join(name).join("history.csv"))
            .checkpoints("loss", best, |seen: &mut Vec<f64>, path| {
                Ok(fs::write(path, format!("{seen:?}"))?)
            })
    };
    let names = |trainer: &Trainer<'_, _>| -> Vec<_> {
        let paths = trainer.kept();
        paths
            .map(|path| path.file_name().unwrap().to_owned())
            .collect()
    };
    let mut whole = trainer("whole");
    assert_eq!(fit(&mut whole, batches).unwrap(), Ended::Early { epoch: 7 });
    assert_eq!(names(&whole), ["best-0001", "best-0002", "best-0004"]);

    for epochs in 1..=7 {
        let name = format!("{epochs}");
        let mut first = trainer(&name).after_epoch(|_, epoch| {
            if epoch.number() == epochs {
                epoch.stop();
            }
            Ok(())
        });
        fit(&mut first, batches).unwrap();
        let history = History::read_csv(folder.join(&name).join("history.csv")).unwrap();
        assert_eq!(history.last_epoch(), Some(epochs));
        let mut second = trainer(&name).resume(history);
        assert_eq!(
            fit(&mut second, batches).unwrap(),
            Ended::Early { epoch: 7 }
        );
        assert_eq!(second.history(), whole.history());
        assert_eq!([names(&first), names(&second)].concat(), names(&whole));
    }
    let best = whole.history().best("loss", Mode::Min);
    assert_eq!(
        best,
        Some(Best {
            epoch: 4,
            value: 2.0
        })
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_checkpoint_that_fails_ends_it_with_the_epoch_complete() {
    let missing = std::env::temp_dir().join(format!("pullback-fails-{}", std::process::id()));
    let policy = Checkpoints::new(missing.join("model"));
    let mut trainer = quiet(2).checkpoints("loss", policy, |_, _| Err("no space".into()));
    let error = fit(&mut trainer, constant(1.0)).unwrap_err().to_string();
    assert!(
        error.starts_with("epoch 1: cannot write the checkpoint "),
        "{error}"
    );
    assert!(error.ends_with("no space"), "{error}");
    assert_eq!(trainer.history().len(), 1);
    drop(trainer);
    fs::remove_dir_all(missing).unwrap();
}
