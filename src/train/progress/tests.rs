use std::io::{self, Write};
use std::sync::Arc;

use super::output::LINE_INTERVAL;
use super::*;

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe that nobody reads.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

fn after(progress: &Progress, seconds: f64) -> Instant {
    progress.state().start + Duration::from_secs_f64(seconds)
}

#[test]
fn without_a_terminal_there_are_plain_lines_now_and_then() {
    let written = Written::default();
    let output = Output::lines(written.clone(), LINE_INTERVAL);
    let progress = Progress::on(&output, "epoch 1/2", Some(250));
    progress.set("loss", 0.5);
    for second in 1..=25 {
        progress.inc_at(10, after(&progress, second.into()));
    }
    progress.finish_at(after(&progress, 25.0));
    progress.finish();
    drop(progress);
    assert_eq!(
        written.text(),
        "epoch 1/2: 100/250, 10.0/s, 15 s left, loss 0.5000\n\
         epoch 1/2: 200/250, 10.0/s, 5.0 s left, loss 0.5000\n\
         epoch 1/2: 250 in 25 s, 10.0/s, loss 0.5000\n"
    );
    assert!(!written.text().contains(['\r', '\x1b']));
}

#[test]
fn in_a_terminal_one_line_is_drawn_again_at_most_ten_times_a_second() {
    let written = Written::default();
    let progress = Progress::on(&Output::bar(written.clone(), 60), "", Some(1000));
    for step in 1..=1000 {
        progress.inc_at(1, after(&progress, f64::from(step) / 1000.0));
    }
    let bars = written.text().matches(CLEAR).count();
    assert!((8..=11).contains(&bars), "{bars}");
    assert!(!written.text().contains('\n'));
    progress.finish_at(after(&progress, 1.0));
    assert!(written.text().ends_with("\r\x1b[K1000 in 1.0 s, 1000/s\n"));
    assert_eq!(written.text().matches('\n').count(), 1);
}

#[test]
fn what_is_printed_next_begins_in_a_line_of_its_own() {
    let written = Written::default();
    let progress = Progress::on(&Output::bar(written.clone(), 60), "a", Some(4));
    progress.println("before");
    progress.inc_at(1, after(&progress, 1.0));
    progress.println("between");
    drop(progress);
    let text = written.text();
    assert!(text.starts_with("before\n\r\x1b[Ka ["), "{text:?}");
    assert!(text.contains("\r\x1b[Kbetween\n\r\x1b[Ka ["), "{text:?}");
    assert!(text.ends_with(" left\n"), "{text:?}");
}

#[test]
fn a_loop_is_counted_as_items_are_done_with() {
    let progress = Progress::on(&Output::silent(), "", None);
    let items = progress.over([5, 6, 7]);
    assert_eq!(items.len(), 3);
    for (place, _) in items.enumerate() {
        assert_eq!(progress.done(), place);
    }
    assert_eq!((progress.done(), progress.state().total), (3, Some(3)));
    for _ in progress.over((0..9).filter(|n| n % 2 == 0)) {}
    assert_eq!((progress.done(), progress.state().total), (8, Some(3)));
}

#[test]
fn a_display_that_cannot_be_written_to_stops_nothing() {
    let progress = Progress::on(&Output::bar(Closed, 80), "a", Some(2));
    progress.over([1, 2]).for_each(drop);
    progress.println("x");
    progress.finish();
    assert_eq!(progress.done(), 2);
}
