use super::*;
use crate::nodes::Totals;
use crate::picture::{Arc, Group, Kind, Shown};

/// Returns boxes in frames, and arcs `from` `to` from boxes with larger numbers to boxes with smaller ones.
fn picture(groups: &[Option<usize>], arcs: &[(usize, usize)], frames: &[Option<usize>]) -> Picture {
    let shown = |group: &Option<usize>| Shown {
        kind: Kind::Function,
        title: String::new(),
        times: 1,
        lines: Vec::new(),
        hover: Vec::new(),
        group: *group,
    };
    let arc = |&(from, to): &(usize, usize)| Arc {
        from,
        to,
        label: String::new(),
    };
    let frame = |parent: &Option<usize>| Group {
        parent: *parent,
        times: 3,
    };
    Picture {
        boxes: groups.iter().map(shown).collect(),
        arcs: arcs.iter().map(arc).collect(),
        groups: frames.iter().map(frame).collect(),
        totals: Totals::default(),
        elided: 0,
    }
}

fn placed(picture: &Picture) -> Layout {
    let arriving = |number: usize| picture.arcs.iter().filter(move |arc| arc.to == number);
    let size = |number: usize| Size {
        width: (40.0 + (number * 37 % 90) as f64)
            .max(arriving_width(arriving(number).map(|_| 0.0))),
        height: 30.0 + (number * 17 % 40) as f64,
    };
    let sizes: Vec<Size> = (0..picture.boxes.len()).map(size).collect();
    layout(picture, &sizes, &vec![0.0; picture.arcs.len()])
}

fn overlap(a: Rect, b: Rect) -> bool {
    let apart = a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y;
    !apart
}

fn contains(outer: Rect, inner: Rect) -> bool {
    outer.around(inner) == outer
}

/// Checks what holds for every drawing.
fn check(picture: &Picture, layout: &Layout) {
    let whole = Rect {
        x: 0.0,
        y: 0.0,
        width: layout.width + 1e-6,
        height: layout.height + 1e-6,
    };
    for (number, rect) in layout.boxes.iter().enumerate() {
        assert!(contains(whole, *rect), "box {number} is outside");
        for other in &layout.boxes[number + 1..] {
            assert!(!overlap(*rect, *other), "box {number} is on another");
        }
        let group = picture.boxes[number].group;
        let around: Vec<usize> = ancestors(&picture.groups, group).collect();
        for (group, frame) in layout.frames.iter().enumerate() {
            let frame = frame.expect("a frame with boxes");
            if around.contains(&group) {
                assert!(contains(frame, *rect), "box {number} is not in its frame");
            } else {
                assert!(!overlap(frame, *rect), "box {number} is in frame {group}");
            }
        }
    }
    for (arc, route) in picture.arcs.iter().zip(&layout.routes) {
        let (from, to) = (layout.boxes[arc.from], layout.boxes[arc.to]);
        assert!(from.bottom() < to.y, "an arc leads up");
        let (x, y) = route.points[route.points.len() - 1];
        assert_eq!(y, to.y);
        assert!((to.x..=to.right()).contains(&x));
        assert!(route.points.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert!(route.points.len().is_multiple_of(2));
        // Between curves, an arc is a vertical line beside the boxes of a layer.
        for pair in route.points[1..route.points.len() - 1].chunks(2) {
            let [(x, top), (below, bottom)] = [pair[0], pair[1]];
            assert_eq!(x, below);
            let way = Rect::line(x, top, bottom);
            for (number, rect) in layout.boxes.iter().enumerate() {
                assert!(!overlap(*rect, way), "an arc leads through box {number}");
            }
        }
    }
}

#[test]
fn a_single_box_is_at_the_corner() {
    let picture = picture(&[None], &[], &[]);
    let layout = placed(&picture);
    check(&picture, &layout);
    assert_eq!((layout.boxes[0].x, layout.boxes[0].y), (0.0, 0.0));
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let layout = placed(&picture(&[], &[], &[]));
    assert_eq!((layout.width, layout.height), (0.0, 0.0));
}

#[test]
fn boxes_of_random_graphs_do_not_overlap() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for size in [2, 5, 20, 60] {
        for _ in 0..10 {
            let giver = |from: usize, random: &mut dyn FnMut(usize) -> usize| (from, random(from));
            let mut arcs: Vec<_> = (1..size).map(|from| giver(from, &mut random)).collect();
            arcs.extend((1..size / 2).map(|from| giver(2 * from, &mut random)));
            arcs.sort_unstable();
            arcs.dedup();
            let picture = picture(&vec![None; size], &arcs, &[]);
            check(&picture, &placed(&picture));
        }
    }
}

#[test]
fn frames_have_their_boxes_and_no_others() {
    // The inputs of 0 are the leaf 1, the frame {2, {3, 4}, 5} and the last box 7; the input of the frame is 6.
    let groups = [None, None, Some(0), Some(1), Some(1), Some(0), None, None];
    let arcs = [
        (1, 0),
        (2, 0),
        (3, 2),
        (4, 2),
        (5, 3),
        (5, 4),
        (6, 5),
        (7, 0),
    ];
    let picture = picture(&groups, &arcs, &[None, Some(0)]);
    let layout = placed(&picture);
    check(&picture, &layout);
    let frames: Vec<Rect> = layout.frames.iter().map(|frame| frame.unwrap()).collect();
    assert!(contains(frames[0], frames[1]));
}

#[test]
fn a_long_arc_is_straight() {
    // A chain of boxes of different widths, and an arc from its first to its last.
    let count = 12;
    let mut arcs: Vec<_> = (1..count).map(|from| (from, from - 1)).collect();
    arcs.push((count - 1, 0));
    let picture = picture(&vec![None; count], &arcs, &[]);
    let layout = placed(&picture);
    check(&picture, &layout);
    let points = &layout.routes[count - 1].points;
    assert_eq!(points.len(), 2 * (count - 1));
    let way = &points[1..points.len() - 1];
    assert!(way.iter().all(|point| point.0 == way[0].0), "{way:?}");
}

#[test]
fn arcs_keep_a_distance_from_the_borders_of_frames() {
    // 1, 2 and 3 are in a frame; arcs lead from 4 to the first and the last of them, and from 5 past them.
    let groups = [None, Some(0), Some(0), Some(0), None, None];
    let arcs = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (4, 1), (5, 0)];
    let picture = picture(&groups, &arcs, &[None]);
    let layout = placed(&picture);
    check(&picture, &layout);
    let frame = layout.frames[0].expect("a frame");
    let xs = |arc: usize| {
        let points = &layout.routes[arc].points;
        points[1..points.len() - 1].iter().map(|point| point.0)
    };
    // One ends in the frame, and is within it; the other passes it.
    assert!(xs(5).len() > 0 && xs(5).all(|x| frame.x < x && x < frame.right()));
    let near = |x: f64, border: f64| (x - border).abs() < 6.0;
    assert!(xs(6).len() > 0 && xs(6).all(|x| !near(x, frame.x) && !near(x, frame.right())));
}
