"""The loss beside the same recursion in PyTorch's operations, and beside the sum over all alignments."""

import itertools
import math

import pytest
import rnnt

torch = pytest.importorskip("torch")


def reference(logits, targets, frame_lengths, target_lengths, blank):
    losses, first = [], 0
    for example, (frames, count) in enumerate(zip(frame_lengths.tolist(), target_lengths.tolist())):
        labels = targets[first : first + count].tolist()
        first += count
        log_probs = logits[example].log_softmax(-1)
        ways = {(0, 0): log_probs.new_zeros(())}
        for t, u in itertools.product(range(frames), range(count + 1)):
            before = []
            if t > 0:
                before.append(ways[t - 1, u] + log_probs[t - 1, u, blank])
            if u > 0:
                before.append(ways[t, u - 1] + log_probs[t, u - 1, labels[u - 1]])
            if before:
                ways[t, u] = torch.logsumexp(torch.stack(before), 0)
        losses.append(-(ways[frames - 1, count] + log_probs[frames - 1, count, blank]))
    return torch.stack(losses)


def arguments(batch, frames, most, labels, blank=0, dtype=torch.float64):
    frame_lengths = torch.randint(1, frames + 1, (batch,))
    target_lengths = torch.randint(0, most + 1, (batch,))
    frame_lengths[0], target_lengths[0] = frames, most
    targets = torch.randint(0, labels, (int(target_lengths.sum()),))
    logits = torch.randn(batch, frames, most + 1, labels, dtype=dtype, requires_grad=True)
    return logits, targets, frame_lengths, target_lengths, blank


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_gradients_are_those_of_torch(case, dtype):
    torch.manual_seed(case)
    inputs = arguments(1 + case % 4, 2 + case, case % 5, 3 + case, case % 3, dtype)
    loss = rnnt.RnntLoss(*inputs)
    double = inputs[0].detach().double().requires_grad_()
    expected = reference(double, *inputs[1:])
    grad = torch.randn_like(loss)
    (found,), (other,) = torch.autograd.grad(loss, inputs[0], grad), torch.autograd.grad(expected, double, grad.double())
    tolerance = {"rtol": 1e-12, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(loss.double(), expected, **tolerance)
    torch.testing.assert_close(found.double(), other, **tolerance)
    # What does not count has no gradient, and logits have no direction that the softmax does not see.
    assert found[0].abs().sum() > 0
    for example, (frames, count) in enumerate(zip(*(lengths.tolist() for lengths in inputs[2:4]))):
        assert found[example, frames:].abs().sum() == 0 and found[example, :, count + 1 :].abs().sum() == 0
    torch.testing.assert_close(found.sum(-1), torch.zeros_like(found[..., 0]), rtol=0, atol=1e-5)


def test_it_is_the_sum_over_all_alignments():
    torch.manual_seed(3)
    logits, targets, frame_lengths, target_lengths, blank = arguments(1, 3, 2, 4)
    log_probs, total = logits.detach()[0].log_softmax(-1), 0.0
    # The labels may be written at any frames, in their order; each frame ends with a blank.
    for times in itertools.combinations_with_replacement(range(3), 2):
        u, way = 0, 0.0
        for t in range(3):
            while u < 2 and times[u] == t:
                way += log_probs[t, u, targets[u]].item()
                u += 1
            way += log_probs[t, u, blank].item()
        total += math.exp(way)
    loss = rnnt.RnntLoss(logits, targets, frame_lengths, target_lengths, blank)
    assert abs(loss.item() + math.log(total)) < 1e-12


def test_gradients_are_those_of_finite_differences():
    torch.manual_seed(4)
    logits, *values = arguments(2, 4, 3, 5)
    assert torch.autograd.gradcheck(lambda logits: rnnt.RnntLoss(logits, *values), logits)


def test_improbable_alignments_have_a_finite_loss():
    logits, *values = arguments(1, 50, 20, 4)
    logits = (300 * logits.detach()).requires_grad_()
    loss = rnnt.RnntLoss(logits, *values)
    (grad,) = torch.autograd.grad(loss.sum(), logits)
    assert loss.isfinite().all() and grad.isfinite().all()
    torch.testing.assert_close(loss, reference(logits, *values))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"blank": 5}, "`blank` is 5, of 5 labels"),
        ({"targets": torch.tensor([1])}, "`targets` has 1 labels, for lengths with the sum 3"),
        ({"targets": torch.tensor([1, 2, 5])}, "`targets` has the label 5, of 5"),
        ({"frame_lengths": torch.tensor([5])}, "5 frames and 3 targets, for logits of 4 frames and 4 places"),
        ({"frame_lengths": torch.tensor([0])}, "0 frames and 3 targets"),
        ({"frame_lengths": torch.tensor([4, 4])}, "1 examples, with 2 lengths of frames and 1 of targets"),
    ],
)
def test_what_does_not_fit_is_an_error(change, text):
    names = ["logits", "targets", "frame_lengths", "target_lengths", "blank"]
    inputs = {**dict(zip(names, arguments(1, 4, 3, 5))), **change}
    with pytest.raises(ValueError, match=text):
        rnnt.RnntLoss(**inputs)


def test_it_is_trained_and_compiled():
    torch.manual_seed(5)
    _, *values = arguments(3, 6, 3, 5)
    frames = torch.randn(3, 6, 8)
    model = torch.nn.Linear(8, 4 * 5)

    def loss(frames):
        return rnnt.RnntLoss(model(frames).view(3, 6, 4, 5), *values).mean()

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(frames), loss(frames))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    first = loss(frames).item()
    for _ in range(30):
        optimizer.zero_grad()
        loss(frames).backward()
        optimizer.step()
    assert loss(frames).item() < 0.5 * first
