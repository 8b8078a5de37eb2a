"""The functions of `examples/python` in PyTorch."""

import copy
import gc
import importlib
import inspect
import io
import os
import pickle
import re
import socket
import subprocess
import sys
import threading
import weakref

import diffops
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.two_tensor import TwoTensor


def squash(x, limit):
    return x / torch.sqrt(1 + (x / limit) ** 2)


def above_smallest(x):
    return x - x[x.argmin()]


def leaf(*shape, dtype=torch.float64, low=-2.0, high=2.0):
    return torch.empty(shape, dtype=dtype).uniform_(low, high).requires_grad_()


# Each exported function beside PyTorch's own operations, with arguments of a random case.
BESIDE = {
    "squash": (diffops.squash, squash, lambda n: (leaf(n, 4), leaf(n, 1, low=0.5)), {}),
    "squash of float32": (
        diffops.squash,
        squash,
        lambda n: (leaf(n, 2, 3, dtype=torch.float32), leaf(1, 1, 3, dtype=torch.float32, low=0.5)),
        {"rtol": 1e-5, "atol": 1e-5},
    ),
    "squash of a number": (diffops.squash, squash, lambda n: (leaf(n, 4), leaf(low=0.5)), {}),
    "squash of a row": (diffops.squash, squash, lambda n: (leaf(n, 3, 4), leaf(4, low=0.5)), {}),
    "squash of a vector": (diffops.squash, squash, lambda n: (leaf(n), leaf(2, 3, n, low=0.5)), {}),
    "polar": (diffops.polar, lambda x, y: (torch.hypot(x, y), torch.atan2(y, x)), lambda n: (leaf(n), leaf(n)), {}),
    "linear": (
        diffops.linear,
        torch.nn.functional.linear,
        lambda n: tuple(leaf(*shape, dtype=torch.float32) for shape in [(n, 3), (5, 3), (5,)]),
        {"rtol": 1e-5, "atol": 1e-5},
    ),
    "MulConstant": (lambda x: diffops.MulConstant(x, 2.5), lambda x: x * 2.5, lambda n: (leaf(n, 3),), {}),
    "Exp": (diffops.Exp, torch.exp, lambda n: (leaf(2, n, 3),), {}),
    "pick": (
        lambda x: diffops.pick(x, torch.arange(2 * len(x)) % len(x)),
        lambda x: x[torch.arange(2 * len(x)) % len(x)],
        lambda n: (leaf(n),),
        {},
    ),
    "logarithm": (lambda x: diffops.logarithm(x, "10"), torch.log10, lambda n: (leaf(n, low=0.1),), {}),
    "above_smallest": (lambda x: diffops.above_smallest(x)[0], above_smallest, lambda n: (leaf(n),), {}),
}


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("case", range(20))
def test_values_and_gradients_are_those_of_torch(name, case):
    ours, theirs, arguments, tolerance = BESIDE[name]
    torch.manual_seed(case)
    arguments = arguments(case + 1)
    results = []
    for function in (ours, theirs):
        outputs = function(*arguments)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        torch.manual_seed(case)
        grads = [torch.randn_like(output) for output in outputs]
        results.append((*outputs, *torch.autograd.grad(outputs, arguments, grads)))
    for one, other in zip(*results):
        torch.testing.assert_close(one, other, **tolerance)


def test_gradcheck_passes_to_the_order_of_the_function():
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)
    assert gradcheck(diffops.squash, (x, limit))
    assert gradgradcheck(diffops.squash, (x, limit))
    assert gradcheck(diffops.polar, (x, leaf(3, 4)))
    assert gradgradcheck(diffops.polar, (x, leaf(3, 4)))
    assert gradcheck(lambda x: diffops.MulConstant(x, constant=2.5), (x,))
    assert gradcheck(lambda x: diffops.above_smallest(x)[0], (leaf(5),))
    assert gradcheck(diffops.Exp, (x,)) and gradgradcheck(diffops.Exp, (x,))


def test_what_cannot_be_differentiated_again_says_so():
    x, w = leaf(5, 4, dtype=torch.float32), leaf(3, 4, dtype=torch.float32)
    (grad,) = torch.autograd.grad(diffops.linear(x, w).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="the gradient of `linear` cannot be differentiated again"):
        (grad.sum() + (x * x).sum()).backward()

    x, limit = leaf(3), torch.tensor([1.5], dtype=torch.float64)
    derivative = diffops.squash(x, limit)
    for _ in range(2):
        (derivative,) = torch.autograd.grad(derivative.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="`squash` can be differentiated only twice"):
        torch.autograd.grad(derivative.sum(), x)


def test_the_third_derivative_of_two_arguments_says_that_there_is_none():
    x, limit = leaf(3), leaf(3, low=0.5)
    derivative = diffops.squash(x, limit)
    for _ in range(2):
        derivative = sum(torch.autograd.grad(derivative.sum(), (x, limit), create_graph=True))
    with pytest.raises(RuntimeError, match="`squash` can be differentiated only twice"):
        torch.autograd.grad(derivative.sum(), (x, limit))


def test_only_what_is_needed_has_gradients():
    x, limit = leaf(3), torch.tensor([1.5], dtype=torch.float64)
    y = diffops.squash(x, limit)
    assert y.grad_fn.name() == "squashBackward"
    y.sum().backward()
    assert limit.grad is None and x.grad is not None
    with torch.no_grad():
        assert diffops.squash(x, limit).grad_fn is None
    assert not diffops.squash(x.detach(), limit).requires_grad
    distances, place = diffops.above_smallest(x)
    assert distances.requires_grad and isinstance(place, int)
    # An output that nobody uses has no gradient.
    radius, _ = diffops.polar(x, leaf(3))
    radius.sum().backward()


def test_memory_is_shared_and_results_are_not():
    x = leaf(1000)
    y = diffops.squash(x, torch.ones(1, dtype=torch.float64))
    x.data.zero_()  # behind PyTorch's back, and seen all the same
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1.0] * 1000
    x = leaf(1000)
    y = diffops.squash(x, torch.ones(1, dtype=torch.float64))
    with torch.no_grad():
        y.mul_(0)
    y.sum().backward()
    torch.testing.assert_close(x.grad, (1 + x.detach() ** 2) ** -1.5)
    # This one has saved what it returned.
    x.grad, y = None, diffops.Exp(x)
    with torch.no_grad():
        y.mul_(0)
    y.sum().backward()
    torch.testing.assert_close(x.grad, x.detach().exp())


def test_layouts_are_read_as_they_are():
    limit = leaf(1, 1, low=0.5)
    x = leaf(4, 3)
    expanded = x[:1].expand(5, 3), x[:, :1].expand(4, 6), x[0, 0].expand(2, 3), x[:, :1].expand(4, 3).t()
    for view in (x.t(), x[::2], x[:, 1:], x.flip(0), *expanded, x[:, :0], x.reshape(2, 2, 3)[1]):
        torch.testing.assert_close(diffops.squash(view, limit), squash(view, limit))
        ours, theirs = (torch.autograd.grad(f(view, limit).sum(), (x, limit)) for f in (diffops.squash, squash))
        for one, other in zip(ours, theirs):
            torch.testing.assert_close(one, other)
    scalar = leaf()
    assert gradcheck(diffops.squash, (scalar, leaf(low=0.5)))
    parameter = torch.nn.Parameter(x.detach().clone())
    diffops.squash(parameter, limit).sum().backward()
    assert parameter.grad is not None


def test_expanded_gradients_are_those_of_copies():
    x, limit, v, tau = leaf(4, 3), leaf(1, 1, low=0.5), leaf(3), leaf(3, low=0.5)
    for function, leaves in ((diffops.squash, (x, limit)), (diffops.leaky, (v, x, tau)), (diffops.Exp, (x,))):
        outputs = function(*leaves)
        output = outputs[-1] if isinstance(outputs, tuple) else outputs
        number, row, column = torch.ones(()).double(), leaf(1, 3).detach(), leaf(4, 1).detach()
        for grad in (number, row, column):
            grad = grad.expand_as(output)
            ours, theirs = (
                torch.autograd.grad(output, leaves, grad, retain_graph=True, allow_unused=True)
                for grad in (grad, grad.contiguous())
            )
            torch.testing.assert_close(ours, theirs)


def test_what_pytorch_has_yet_to_do_is_done():
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)
    programs = (
        # Imaginary parts of conjugates, whose signs are yet to change: an argument, and a gradient.
        lambda f: f(torch.complex(x, x).conj().imag, limit),
        lambda f: (torch.complex(x, f(x, limit)).conj() * (1 + 2j)).imag,
        # A gradient of a few rows.
        lambda f: torch.nn.functional.embedding(torch.tensor([2, 0, 2]), f(x, limit), sparse=f is diffops.squash),
    )
    for program in programs:
        ours, theirs = (torch.autograd.grad(program(f).sum(), (x, limit)) for f in (diffops.squash, squash))
        for one, other in zip(ours, theirs):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, w: diffops.linear(x, w.double()), TypeError, "linear: `weight` must be float32, not float64"),
        (lambda x, w: diffops.linear(x.double(), w), TypeError, "linear: `input` must be float32, not float64"),
        (lambda x, w: diffops.linear(x.int(), w), TypeError, "linear: `input` must be float32, not int32"),
        (lambda x, w: diffops.linear(x, w, w), ValueError, r"linear: `bias` must have 1 axis, not the shape \[3, 4\]"),
        (lambda x, w: diffops.linear(x, w.t()), ValueError, r"linear of input \[5, 4\], weight \[4, 3\]: ndarray: "),
        (lambda x, w: diffops.linear(x, None), TypeError, "linear: `weight` must be an array, not None"),
        (lambda x, w: diffops.linear(x, 1.0), TypeError, "linear: `weight` must be a torch.Tensor, not float"),
        (lambda x, w: diffops.linear(x, w.detach().numpy()), TypeError, "linear: `weight` must be a torch.Tensor, not nda"),
        (lambda x, w: diffops.linear(x, w.to("meta")), ValueError, "`input` is on cpu, and another argument is on meta"),
        (lambda x, w: diffops.above_smallest(w[0].double().to("meta")), ValueError, "`x` is a meta tensor, which has no"),
        (lambda x, w: diffops.linear(x, w.to_sparse()), TypeError, "layout torch.sparse_coo; pass `weight.to_dense()`"),
        (lambda x, w: diffops.linear(torch.nested.nested_tensor([x]), w), TypeError, "linear: `input` is a nested tensor"),
        (lambda x, w: diffops.linear(x), TypeError, "missing 1 required positional argument: 'weight'"),
        (lambda x, w: diffops.linear(x, wieght=w), TypeError, "unexpected keyword argument 'wieght'"),
        (
            lambda x, w: diffops.MulConstant(x.double(), torch.tensor(2.5, requires_grad=True)),
            TypeError,
            r"MulConstant: `constant` is a value, which has no gradient, .* pass `constant.detach\(\)`",
        ),
        (
            lambda x, w: diffops.pick(x.double()[0], torch.tensor([4])),
            ValueError,
            r"^pick of x \[4\]: ndarray: index (4 is )?out of bounds",
        ),
        (lambda x, w: diffops.pick(x.double()[0], torch.tensor([-1])), ValueError, "pick: `places` has -1, which is out of range"),
        (lambda x, w: diffops.logarithm(x.double()[0], "7"), RuntimeError, "logarithm: there is no base 7"),
        (lambda x, w: diffops.MulConstant(x.double(), "two"), TypeError, "MulConstant: `constant`: must be real number"),
    ],
)
def test_mistakes_are_errors_in_the_words_of_the_function(call, error, text):
    x, w = leaf(5, 4, dtype=torch.float32), leaf(3, 4, dtype=torch.float32)
    with pytest.raises(error) as raised:
        call(x, w)
    assert re.search(text.replace("dense()", r"dense\(\)"), str(raised.value)), raised.value


def test_graphs_are_used_once_unless_they_are_retained():
    x, limit = leaf(3), leaf(1, low=0.5)
    loss = diffops.squash(x, limit).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    torch.testing.assert_close(x.grad, 2 * torch.autograd.grad(squash(x, limit).sum(), x)[0])
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_what_is_written_to_before_its_backward_is_an_error():
    x = leaf(3) * 1
    loss = diffops.squash(x, leaf(1, low=0.5)).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_compute_again(use_reentrant):
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)

    def block(x):
        return diffops.squash(2 * x, limit) ** 2

    torch.utils.checkpoint.checkpoint(block, x, use_reentrant=use_reentrant).sum().backward()
    torch.testing.assert_close(x.grad, torch.autograd.grad(block(x).sum(), x)[0])


def test_hooks_of_saved_tensors_leave_nothing_behind():
    x, seen = leaf(4), []

    def pack(tensor):
        seen.append(tensor.shape)
        return tensor.clone()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = diffops.squash(x, leaf(1, low=0.5)).sum()
    if hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks"):
        assert loss.grad_fn.next_functions[0][0].recording is None
    loss.backward()
    assert x.grad is not None and [4] in map(list, seen)


def test_hooks_see_gradients():
    x, seen = leaf(3), []
    x.register_hook(seen.append)
    y = diffops.squash(x, leaf(1, low=0.5))
    y.register_hook(lambda grad: 2 * grad)
    y.sum().backward()
    torch.testing.assert_close(x.grad, seen[0])


def test_several_threads_use_one_function():
    errors = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(50):
            x = torch.randn(40, generator=generator, dtype=torch.float64).requires_grad_()
            diffops.squash(x, torch.ones(1, dtype=torch.float64)).sum().backward()
            if not torch.allclose(x.grad, (1 + x.detach() ** 2) ** -1.5):
                errors.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc: resident memory is not known")
def test_nothing_stays_behind():
    limit = torch.tensor([1.5], dtype=torch.float64)

    def rounds(count):
        for _ in range(count):
            x = torch.ones(2000, dtype=torch.float64, requires_grad=True)
            (grad,) = torch.autograd.grad(diffops.squash(x, limit).sum(), x, create_graph=True)
            grad.sum().backward()

    rounds(200)
    before = resident()
    rounds(2000)
    # One tensor of each round would be 32 MB.
    assert resident() - before < 8e6
    x = leaf(3)
    y = diffops.squash(x, limit)
    recording = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert recording() is None


def test_it_documents_itself():
    assert str(inspect.signature(diffops.linear)) == "(input, weight, bias=None)"
    assert diffops.linear.__name__ == "linear"
    assert "y = x Wᵀ + b" in diffops.linear.__doc__
    assert "bias: array of float32 with 1 axis, or None" in diffops.linear.__doc__
    assert "It can be differentiated twice." in diffops.squash.__doc__
    compile(diffops.__pyi__, "diffops.pyi", "exec")
    assert "def linear(input: Array, weight: Array, bias: Array | None = ...) -> Array:" in diffops.__pyi__
    # Of the block, and of forward.
    assert diffops.MulConstant.__doc__.startswith("A product with a number.\n\nMultiplies each element.\n\nArguments:")


def test_functions_are_pickled_by_name_and_recordings_say_why_not():
    assert pickle.loads(pickle.dumps(diffops.linear)) is diffops.linear
    assert copy.deepcopy(diffops.linear) is diffops.linear
    ones = torch.ones(2, 2, dtype=torch.float64).numpy()
    recording, *_ = diffops.MulConstant.pullback.run((ones, 2.5), [ones], [True])
    for refused in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a recording of MulConstant cannot be copied or pickled"):
            refused(recording)


class Squashed(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, place):
        return diffops.squash(torch.tensor([float(place)]), torch.ones(1))


def test_workers_of_a_data_loader_use_it():
    loader = torch.utils.data.DataLoader(Squashed(), batch_size=4, num_workers=2)
    batches = torch.cat(list(loader))
    places = torch.arange(8.0)[:, None]
    torch.testing.assert_close(batches, squash(places, torch.ones(1)))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 12).reshape(3, 4))
        self.bias = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return diffops.squash(diffops.linear(x, self.weight, self.bias), torch.ones(1, 1))


def train(rank, world, port, queue):
    torch.set_num_threads(1)
    model = Layer()
    if world > 1:
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    generator = torch.Generator().manual_seed(1)
    data, target = torch.randn(8, 4, generator=generator), torch.randn(8, 3, generator=generator)
    share = slice(rank * 8 // world, (rank + 1) * 8 // world)
    for _ in range(10):
        optimizer.zero_grad()
        ((model(data[share]) - target[share]) ** 2).mean().backward()
        optimizer.step()
    state = [parameter.detach().tolist() for parameter in model.parameters()]
    if queue is None:
        return state
    queue.put((rank, state))
    queue.close()
    queue.join_thread()
    # Without finalizing Python: threads of gloo may still free tensors then, and PyTorch aborts (pytorch/pytorch#179291).
    os._exit(0)


def test_two_processes_train_one_model():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=train, args=(rank, 2, port, queue)) for rank in range(2)]
    for process in processes:
        process.start()
    states = dict(queue.get(timeout=120) for _ in processes)
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    alone = train(0, 1, None, None)
    for one, two, single in zip(states[0], states[1], alone):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(two), rtol=0, atol=0)
        torch.testing.assert_close(torch.tensor(one), torch.tensor(single))


# PyTorch warns of its own use of what it has deprecated.
quietly = pytest.mark.filterwarnings("ignore")

PROGRAMS = {
    "several axes": (lambda x, limit: diffops.squash(2 * x, limit) * 3, (leaf(3, 4), leaf(3, 1, low=0.5))),
    "one without a gradient": (diffops.squash, (leaf(3, 4), torch.ones(1, 1, dtype=torch.float64))),
    "without what may be left out": (diffops.linear, (torch.rand(2, 3, requires_grad=True), torch.rand(4, 3))),
    "with it": (diffops.linear, (torch.rand(2, 3), torch.rand(4, 3), torch.rand(4, requires_grad=True))),
    "one of two outputs": (lambda x, y: diffops.polar(x, y)[1], (leaf(5), leaf(5))),
    "several functions": (lambda x, y: diffops.squash(diffops.Exp(x), diffops.polar(x, y)[0]), (leaf(5), leaf(5))),
    "places": (lambda x: diffops.pick(x, torch.tensor([4, 0, 4])), (leaf(5),)),
    "a text": (lambda x: diffops.logarithm(x, "2"), (leaf(5, low=0.5),)),
    "a number": (lambda x: diffops.MulConstant(x, constant=3), (leaf(2, 2),)),
    "flags": (lambda x: diffops.masked(x, [True, False, True]), (leaf(3),)),
}


@quietly
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_programs_have_it_as_an_operator(name):
    program, arguments = PROGRAMS[name]
    inputs = [argument for argument in arguments if argument.requires_grad]

    def results(function):
        output = function(*arguments)
        return output, *torch.autograd.grad(output.sin().sum(), inputs)

    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    for ours, theirs in zip(results(compiled), results(program), strict=True):
        torch.testing.assert_close(ours, theirs)


@quietly
def test_compiled_programs_take_other_shapes_and_values():
    compiled = torch.compile(lambda x, k: diffops.MulConstant(x, k).sum(), backend="aot_eager", fullgraph=True)
    for length, k in [(2, 2.0), (3, 2.0), (4, 5.0), (5, 7.0)]:
        x = leaf(length, 2)
        torch.testing.assert_close(torch.autograd.grad(compiled(x, k), x)[0], torch.full_like(x, k))


@quietly
def test_elementwise_functions_are_compiled_for_any_shape():
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda x, limit: diffops.squash(x, limit), backend=backend, dynamic=True, fullgraph=True)
    for length in range(2, 12):
        x, limit = torch.rand(length, 4), torch.ones(length, 1)
        torch.testing.assert_close(compiled(x, limit), diffops.squash(x, limit))
    assert len(graphs) == 1


@quietly
def test_operators_are_what_pytorch_expects():
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)
    torch.library.opcheck(torch.ops.diffops.squash.default, (x, limit))
    grads = [torch.ones_like(x)], [True], [True, False]
    torch.library.opcheck(torch.ops.diffops.squash_gradients.default, (x.detach(), limit.detach(), *grads))


def test_operators_return_lists_and_have_no_defaults():
    x, factor = torch.tensor([1.0, 3.0]), 2.0
    (y,) = torch.ops.diffops.boxcox(x, lambda_=factor)
    torch.testing.assert_close(y, diffops.boxcox(x, lambda_=factor))
    with pytest.raises(RuntimeError, match="lookup\\(\\) is missing value for argument 'factor'"):
        torch.ops.diffops.lookup(x.double(), torch.tensor([[1]]), torch.tensor([[True]]))


@quietly
def test_exported_programs_call_it():
    class Squash(torch.nn.Module):
        def forward(self, x, limit):
            return diffops.squash(2 * x, limit)

    x, limit = leaf(3, 4).detach(), leaf(3, 1, low=0.5).detach()
    program = torch.export.export(Squash(), (x, limit))
    assert ".squash.default" in program.graph_module.code
    torch.testing.assert_close(program.module()(x, limit), Squash()(x, limit))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    class Squash(torch.nn.Module):
        def forward(self, x, limit):
            return diffops.squash(2 * x, limit)

    file = tmp_path_factory.mktemp("exported") / "squash.pt2"
    torch.export.save(torch.export.export(Squash(), (torch.ones(3, 4), torch.ones(3, 1))), file)
    return file


LOAD = """
y = torch.export.load(sys.argv[1]).module()(torch.ones(3, 4), torch.ones(3, 1))
torch.testing.assert_close(y, torch.full((3, 4), 2 / 5**0.5))
"""


IMPORTS = [
    "import sys, diffops, torch",
    "import sys, torch, diffops",
    # Many packages ask whether there is PyTorch before they import it.
    "import sys, importlib.util, diffops; importlib.util.find_spec('torch'); import torch",
]


@pytest.mark.parametrize("imports", IMPORTS)
def test_another_process_loads_an_exported_program(imports, exported):
    subprocess.run([sys.executable, "-W", "ignore", "-c", imports + LOAD, exported], check=True)


@quietly
def test_compiled_programs_stop_where_an_output_is_no_tensor():
    def program(x):
        distances, place = diffops.above_smallest(x)
        return distances * place

    x = leaf(5)
    torch.testing.assert_close(torch.compile(program, backend="aot_eager")(x), program(x))


@quietly
def test_compiled_programs_stop_where_a_number_is_a_tensor():
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = torch.compile(lambda x, number: 2 * diffops.boxcox(x, number), backend="aot_eager")
    for number in (2.0, 1.0):
        torch.testing.assert_close(compiled(x, torch.tensor(number)), 2 * boxcox(x, number))


def fake(function, *arguments):
    with FakeTensorMode() as mode:
        return function(*map(mode.from_tensor, arguments))


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.forward = function


TRACED = {
    "export": lambda f, *arguments: torch.export.export(Function(f), arguments, strict=False),
    "make_fx": lambda f, *arguments: make_fx(f)(*arguments),
    "make_fx of vmap": lambda f, x, value: make_fx(lambda x, value: torch.func.vmap(lambda x: f(x, value))(x))(x[None], value),
    "fake tensors": fake,
}


@quietly
@pytest.mark.parametrize("name", TRACED)
def test_traced_programs_refuse_numbers_that_are_tensors(name):
    x = torch.rand(3)
    with pytest.raises(TypeError, match=r"boxcox: `lambda` is a tensor, and .*; call the program with `lambda.item\(\)`"):
        TRACED[name](diffops.boxcox, x, torch.tensor(2.0))
    with pytest.raises(TypeError, match=r"masked: `keep` is a tensor, and .*; call the program with `keep.tolist\(\)`"):
        TRACED[name](diffops.masked, x, torch.tensor([True, False, True]))


def test_traced_programs_have_the_numbers_that_they_were_made_of():
    x, number = torch.rand(3), torch.tensor(2.0)
    traced = make_fx(lambda x: diffops.boxcox(x, number))(x)
    torch.testing.assert_close(traced(2 * x), boxcox(2 * x, 2.0))


@quietly
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.ones(2, 3), torch.ones(4, 4)), r"linear of input \[2, 3\], weight \[4, 4\]"),
        ((torch.ones(2, 3).int(), torch.ones(4, 3)), "`input` must be float32 or float64, not int32"),
        ((torch.ones(2, 3, device="meta"), torch.ones(4, 3)), "`weight` is on cpu, and another argument is on meta"),
    ],
)
def test_what_is_wrong_is_said_while_it_is_compiled(arguments, text):
    with pytest.raises(RuntimeError, match=text):
        torch.compile(diffops.linear, backend="aot_eager", fullgraph=True)(*arguments)


def squashed(x, limit):
    return x / torch.sqrt(1 + (x / limit) ** 2)


def loss(function):
    return lambda x, limit: function(x, limit).sin().sum()


TRANSFORMS = {
    "grad": lambda f: torch.func.grad(loss(f), argnums=(0, 1)),
    "grad of grad": lambda f: torch.func.grad(
        lambda x, limit: torch.func.grad(loss(f))(x, limit).pow(2).sum(), argnums=(0, 1)
    ),
    "vjp": lambda f: lambda x, limit: torch.func.vjp(f, x, limit)[1](x),
    "jacrev": lambda f: torch.func.jacrev(f, argnums=(0, 1)),
    "jacrev of jacrev": lambda f: torch.func.jacrev(torch.func.jacrev(f)),
    "vmap": lambda f: torch.func.vmap(f),
    "jvp": lambda f: lambda x, limit: torch.func.jvp(f, (x, limit), (x.cos(), limit)),
    "jvp of one": lambda f: lambda x, limit: torch.func.jvp(lambda limit: f(x, limit), (limit,), (limit,)),
    "jacfwd": lambda f: torch.func.jacfwd(f, argnums=(0, 1)),
    "jacfwd of jacfwd": lambda f: torch.func.jacfwd(torch.func.jacfwd(f)),
    "hessian": lambda f: torch.func.hessian(loss(f), argnums=(0, 1)),
    "jacrev of jacfwd": lambda f: torch.func.jacrev(torch.func.jacfwd(loss(f), argnums=(0, 1)), argnums=(0, 1)),
    "jvp of grad": lambda f: lambda x, limit: torch.func.jvp(torch.func.grad(loss(f)), (x, limit), (x, limit)),
    "vmap of columns": lambda f: torch.func.vmap(lambda x, limit: f(x, limit[:, 0]), in_dims=(1, None), out_dims=1),
    "vmap of vmap": lambda f: torch.func.vmap(torch.func.vmap(f, in_dims=(0, None)), in_dims=(None, 0)),
    "gradients of examples": lambda f: torch.func.vmap(torch.func.grad(loss(f), argnums=(0, 1))),
    "grad through vmap": lambda f: torch.func.grad(loss(torch.func.vmap(f)), argnums=(0, 1)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_functions(name):
    x, limit = leaf(3, 4).detach(), leaf(3, 1, low=0.5).detach()
    ours, theirs = (TRANSFORMS[name](function)(x, limit) for function in (diffops.squash, squashed))
    torch.testing.assert_close(ours, theirs)


def test_transforms_stop_where_there_is_no_derivative():
    x, weight = torch.rand(2, 3), torch.rand(4, 3)
    once = torch.func.grad(lambda x: diffops.linear(x, weight).sin().sum())
    torch.testing.assert_close(once(x), torch.func.grad(lambda x: (x @ weight.T).sin().sum())(x))
    with pytest.raises(RuntimeError, match="the gradient of `linear` cannot be differentiated again"):
        torch.func.grad(lambda x: once(x).sum())(x)
    with pytest.raises(RuntimeError, match="linear: forward mode needs a `#\\[jvp\\]` rule, or"):
        torch.func.jvp(lambda x: diffops.linear(x, weight), (x,), (x,))


OF_A_NUMBER = {
    "grad": lambda f: torch.func.grad(lambda number: f(number).sum()),
    "vjp": lambda f: lambda number: torch.func.vjp(f, number),
    "jvp": lambda f: lambda number: torch.func.jvp(f, (number,), (number,)),
    "jacrev": lambda f: torch.func.jacrev(f),
    "jacfwd": lambda f: torch.func.jacfwd(f),
    "hessian": lambda f: torch.func.hessian(f),
    "gradients of examples": lambda f: lambda number: torch.func.vmap(torch.func.jacrev(f))(number[None]),
    "grad through vmap": lambda f: torch.func.grad(lambda number: torch.func.vmap(f)(number[None]).sum()),
    "jvp through vmap": lambda f: lambda number: torch.func.jvp(torch.func.vmap(f), (number[None],), (number[None],)),
    "dual": lambda f: lambda number: dual(f, number),
}


def dual(function, number):
    with forward_ad.dual_level():
        return function(forward_ad.make_dual(number, number))


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_the_derivative_by_a_number_is_an_error(name):
    x, number = leaf(3, low=0.5).detach(), torch.tensor(2.0)
    for function, argument in (
        (lambda number: diffops.boxcox(x, number), "lambda"),
        (lambda number: diffops.MulConstant(x[None], number), "constant"),
        (lambda number: diffops.boxcox(x, (x * number).sum()), "lambda"),
    ):
        with pytest.raises(TypeError, match=f"`{argument}` is a value, which has no gradient, and"):
            OF_A_NUMBER[name](function)(number)


@pytest.mark.parametrize("transform", [torch.func.jacrev, torch.func.jacfwd])
def test_a_detached_number_is_a_constant(transform):
    x, number = leaf(3, low=0.5).detach(), torch.tensor(2.0, dtype=torch.float64)
    slope = transform(lambda number: diffops.boxcox(x, number.detach()) * number)(number)
    torch.testing.assert_close(slope, diffops.boxcox(x, 2.0))


def test_the_derivative_by_a_number_in_a_list_is_an_error():
    x, weight = torch.ones(3), torch.ones(2, 2)
    with pytest.raises(TypeError, match="Penalized: `scales` is a value, which has no gradient, and"):
        torch.func.jacfwd(lambda scale: diffops.Penalized(x, [weight], [scale, 1.0], None))(torch.tensor(2.0))


@pytest.mark.parametrize("inner", ["grad", "jvp", "vmap"])
@pytest.mark.parametrize("outer", ["grad", "jvp", "jacfwd", "dual"])
def test_the_derivative_by_a_number_in_a_list_is_an_error_through_other_transforms(outer, inner):
    if (outer, inner) == ("dual", "jvp"):
        pytest.skip("PyTorch has no `torch.func.jvp` within `dual_level`")
    x, weight = torch.ones(3), torch.ones(2, 2)
    inner = {
        "grad": lambda f: torch.func.grad(lambda x: f(x).sum())(x),
        "jvp": lambda f: torch.func.jvp(f, (x,), (x,))[1],
        "vmap": lambda f: torch.func.vmap(f)(torch.stack([x, x])),
    }[inner]
    with pytest.raises(TypeError, match="Penalized: `scales` is a value, which has no gradient, and"):
        OF_A_NUMBER[outer](lambda scale: inner(lambda x: diffops.Penalized(x, [weight], [scale, 1.0])))(torch.tensor(2.0))
    # One that is not differentiated is a constant.
    scale = torch.tensor(2.0)
    sums = OF_A_NUMBER["jacfwd"](lambda x: inner(lambda y: diffops.Penalized(x * y, [weight], [scale, 1.0])))(x)
    assert sums.isfinite().all()


def test_forward_mode():
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)
    for function, arguments in (
        (diffops.squash, (x, limit)),
        (diffops.polar, (x, leaf(3, 4))),
        # Without a rule, by two backward passes.
        (diffops.Exp, (x,)),
        # Of rows.
        (diffops.scaled, (leaf(2, 3), leaf(2))),
    ):
        assert gradcheck(function, arguments, check_forward_ad=True, check_undefined_grad=True)
        assert gradgradcheck(function, arguments, check_fwd_over_rev=True)
    tangents = torch.randn_like(x), torch.randn_like(limit)
    with forward_ad.dual_level():
        ours, theirs = (f(*map(forward_ad.make_dual, (x, limit), tangents)) for f in (diffops.squash, squash))
        torch.testing.assert_close(forward_ad.unpack_dual(ours).tangent, forward_ad.unpack_dual(theirs).tangent)
        # One argument has no tangent.
        ours, theirs = (f(x, forward_ad.make_dual(limit, tangents[1])) for f in (diffops.squash, squash))
        torch.testing.assert_close(forward_ad.unpack_dual(ours).tangent, forward_ad.unpack_dual(theirs).tangent)


def test_vmap_of_gradients():
    x, limit = leaf(2, 3), leaf(2, 1, low=0.5)
    y = diffops.squash(x, limit)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    each = torch.eye(6, dtype=torch.float64).reshape(6, 2, 3)
    for of, expected in (
        (y, torch.autograd.functional.jacobian(lambda x: squash(x, limit), x)),
        (slope, torch.autograd.functional.hessian(lambda x: squash(x, limit).sum(), x)),
    ):
        rows = torch.vmap(lambda grad: torch.autograd.grad(of, x, grad, retain_graph=True)[0])(each)
        torch.testing.assert_close(rows, expected.reshape(6, 2, 3))
        (rows,) = torch.autograd.grad(of, x, each, is_grads_batched=True, retain_graph=True)
        torch.testing.assert_close(rows, expected.reshape(6, 2, 3))


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_of_all_rows_at_once(strategy):
    x, limit = leaf(3, 4), leaf(3, 1, low=0.5)
    functional = torch.autograd.functional
    ours = functional.jacobian(diffops.squash, (x, limit), vectorize=True, strategy=strategy)
    torch.testing.assert_close(ours, functional.jacobian(squash, (x, limit)))
    ours = functional.hessian(loss(diffops.squash), (x, limit), vectorize=True, outer_jacobian_strategy=strategy)
    torch.testing.assert_close(ours, functional.hessian(loss(squash), (x, limit)))
    if strategy == "reverse-mode":
        # One example after the other.
        ours = functional.jacobian(lambda x: diffops.MulConstant(x, 2.5), x, vectorize=True)
        torch.testing.assert_close(ours, functional.jacobian(lambda x: 2.5 * x, x))


def test_gradcheck_of_all_kinds():
    for function, arguments in (
        (diffops.squash, (leaf(3, 4), leaf(3, 1, low=0.5))),
        (diffops.polar, (leaf(3), leaf(3))),
        (diffops.scaled, (leaf(2, 3), leaf(2))),
        (diffops.Exp, (leaf(3),)),
    ):
        kinds = {"check_batched_grad": True, "check_undefined_grad": True}
        assert gradcheck(function, arguments, check_forward_ad=True, check_batched_forward_grad=True, **kinds)
        assert gradgradcheck(function, arguments, check_fwd_over_rev=True, check_rev_over_rev=True, **kinds)


@pytest.fixture
def runs(monkeypatch):
    """The names of the functions that were run, one for each run."""
    call = importlib.import_module(diffops.squash.__globals__["_call"].__module__.replace("dispatch", "call"))
    names, run = [], call.Call.__call__

    def counted(self, *arguments):
        names.append(self.name)
        return run(self, *arguments)

    monkeypatch.setattr(call.Call, "__call__", counted)
    return names


BATCHES = {
    "both": (lambda: (leaf(5, 3, 4), leaf(5, 3, 1, low=0.5)), (0, 0)),
    "the first": (lambda: (leaf(5, 3, 4), leaf(3, 1, low=0.5)), (0, None)),
    "the second": (lambda: (leaf(3, 4), leaf(5, 3, 1, low=0.5)), (None, 0)),
    "of different ranks": (lambda: (leaf(5, 3, 4), leaf(5, 4, low=0.5)), (0, 0)),
    "along other axes": (lambda: (leaf(3, 4, 5), leaf(4, 5, low=0.5)), (2, 1)),
    "of none": (lambda: (leaf(0, 3), leaf(0, 1, low=0.5)), (0, 0)),
}
DERIVATIVES = {
    "values": (lambda f: f, 1),
    "gradients": (lambda f: torch.func.grad(loss(f), argnums=(0, 1)), 2),
    "Jacobians": (lambda f: torch.func.jacfwd(f, argnums=(0, 1)), None),
    "Hessians": (lambda f: torch.func.hessian(loss(f), argnums=(0, 1)), None),
}


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_vmap_of_an_elementwise_function_is_one_call(batch, name, runs):
    arguments, axes = BATCHES[batch]
    arguments = [argument.detach() for argument in arguments()]
    derivative, count = DERIVATIVES[name]
    ours, theirs = (torch.func.vmap(derivative(f), in_dims=axes)(*arguments) for f in (diffops.squash, squash))
    torch.testing.assert_close(ours, theirs)
    assert len(runs) == count if count else len(runs) < 12


def leaky(v, x, tau):
    rates = []
    for step in x.unbind():
        v = tau * v + step
        rates.append(v.sigmoid())
    return v, torch.stack(rates)


SCANS = {
    "all": (lambda: (leaf(5, 4), leaf(5, 6, 4), leaf(5, 4)), (0, 0, 0)),
    "the steps": (lambda: (leaf(4), leaf(5, 6, 4), leaf(4)), (None, 0, None)),
    "the state": (lambda: (leaf(5, 4), leaf(6, 4), leaf(4)), (0, None, None)),
    "of different ranks": (lambda: (leaf(5, 3, 4), leaf(5, 6, 4), leaf(5)), (0, 0, 0)),
    "along other axes": (lambda: (leaf(4, 5), leaf(6, 4, 5), leaf(4)), (1, 2, None)),
    "of none": (lambda: (leaf(0, 4), leaf(0, 6, 4), leaf(4)), (0, 0, None)),
}


# PyTorch's own operations have no derivatives of no examples.
@pytest.mark.parametrize(
    ("batch", "name"), [(batch, name) for batch in SCANS for name in DERIVATIVES if batch != "of none" or name == "values"]
)
def test_vmap_of_a_scan_is_one_call(batch, name, runs):
    arguments, axes = SCANS[batch]
    arguments = [argument.detach() for argument in arguments()]
    if name == "values":
        derivative, count = (lambda f: f), 1
    else:
        # Of a number or of numbers that depend on both outputs.
        of_all = {"gradients": torch.func.grad, "Jacobians": torch.func.jacfwd, "Hessians": torch.func.hessian}[name]
        derivative, count = lambda f: of_all(lambda *x: sum(y.sin().sum() for y in f(*x)), argnums=(0, 1, 2)), None
    ours, theirs = (torch.func.vmap(derivative(f), in_dims=axes)(*arguments) for f in (diffops.leaky, leaky))
    torch.testing.assert_close(ours, theirs)
    assert len(runs) == count if count else len(runs) < 12


def test_gradients_of_a_scan_for_all_rows_at_once():
    arguments = (leaf(3), leaf(4, 3), leaf(3))
    functional = torch.autograd.functional
    ours = functional.jacobian(diffops.leaky, arguments, vectorize=True)
    torch.testing.assert_close(ours, functional.jacobian(leaky, arguments))


def selective(h, delta, x, b, c, a, d):
    outputs = []
    for delta, x, b, c in zip(delta, x, b, c):
        h = (delta[..., None] * a).exp() * h + delta[..., None] * b * x[..., None]
        outputs.append((c * h).sum(-1) + d * x)
    return h, torch.stack(outputs)


def test_vmap_of_a_scan_of_rows(runs):
    arguments = [leaf(2, 3, 16), *[leaf(2, 5, 3)] * 2, *[leaf(2, 5, 1, 16)] * 2, leaf(3, 16), leaf(2)]
    arguments = [argument.detach() for argument in arguments]

    def gradients(f):
        return torch.func.grad(lambda *x: sum(y.sin().sum() for y in f(*x)), argnums=tuple(range(7)))

    axes = (0, 0, 0, 0, 0, None, 0)
    for derivative, count in ((lambda f: f, 1), (gradients, 2)):
        runs.clear()
        ours, theirs = (torch.func.vmap(derivative(f), in_dims=axes)(*arguments) for f in (diffops.selective, selective))
        torch.testing.assert_close(ours, theirs)
        assert len(runs) == count


def hamilton(a, b):
    a, b = a.unbind(-1), b.unbind(-1)
    return torch.stack([
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ], -1)


def test_vmap_of_rows():
    a, b = leaf(5, 2, 4).detach(), leaf(5, 4).detach()
    for derivative in (lambda f: f, lambda f: torch.func.hessian(loss(f), argnums=(0, 1))):
        ours, theirs = (torch.func.vmap(derivative(f))(a, b) for f in (diffops.hamilton, hamilton))
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_vmap_of_indices(axes):
    def pick(x, places):
        return x[places]

    x, places = leaf(3, 4).detach(), torch.randint(4, (3, 5))
    x, places = (x if axes[0] == 0 else x[0]), (places if axes[1] == 0 else places[0])
    for derivative in (lambda f: f, lambda f: torch.func.grad(loss(f))):
        ours, theirs = (torch.func.vmap(derivative(f), in_dims=axes)(x, places) for f in (diffops.pick, pick))
        torch.testing.assert_close(ours, theirs)


def boxcox(x, power):
    return (x**power - 1) / power


def decaying(v, x, rate):
    sums = []
    for step in x.unbind():
        v = rate * v + step
        sums.append(v)
    return v, torch.stack(sums)


# With a number that is a tensor without axes, and with one for each example.
OF_NUMBERS = {
    "one": lambda f, x, number: torch.func.vmap(lambda x: f(x, number[0]))(x),
    "one of each example": lambda f, x, number: torch.func.vmap(f)(x, number),
    "of one array": lambda f, x, number: torch.func.vmap(f, in_dims=(None, 0))(x[0], number),
    "nested": lambda f, x, number: torch.func.vmap(torch.func.vmap(f, in_dims=(0, None)), in_dims=(None, 0))(x, number),
    "in chunks": lambda f, x, number: torch.func.vmap(f, chunk_size=2)(x, number),
    "jacrev": lambda f, x, number: torch.func.jacrev(lambda x: f(x, number[0]))(x[0]),
    "jacfwd": lambda f, x, number: torch.func.jacfwd(lambda x: f(x, number[0]))(x[0]),
    "gradients": lambda f, x, number: torch.func.vmap(torch.func.jacrev(f))(x, number),
    "hessian": lambda f, x, number: torch.func.hessian(lambda x: f(x, number[0]))(x[0]),
    "jacfwd of jacfwd": lambda f, x, number: torch.func.jacfwd(torch.func.jacfwd(lambda x: f(x, number[0])))(x[0]),
    "backward": lambda f, x, number: torch.autograd.grad(torch.func.vmap(f)(x, number).sin().sum(), x),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_vmap_of_a_number_that_is_a_tensor(name):
    x, number = leaf(3, 4, low=0.5), torch.tensor([2.0, 0.5, 3.0], dtype=torch.float64)
    ours, theirs = (OF_NUMBERS[name](function, x, number) for function in (diffops.boxcox, boxcox))
    torch.testing.assert_close(ours, theirs)
    ours, theirs = (
        OF_NUMBERS[name](lambda x, rate: scan(x.cos(), torch.stack([x, x.sin()]), rate)[1], x, number)
        for scan in (diffops.decaying, decaying)
    )
    torch.testing.assert_close(ours, theirs)


def test_vmap_of_one_number_is_one_call(runs):
    torch.func.vmap(lambda x: diffops.boxcox(x, torch.tensor(2.0)))(torch.rand(5, 3))
    assert runs == ["boxcox"]


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_vmap_of_entries_for_each_element(axes):
    x, keep = torch.rand(2, 3), torch.tensor([[True, False, True], [False, False, True]])
    x, keep = (x if axes[0] == 0 else x[0]), (keep if axes[1] == 0 else keep[0])
    ours = torch.func.vmap(lambda x, keep: diffops.masked(x, keep), in_dims=axes)(x, keep)
    torch.testing.assert_close(ours, x * keep)


def test_vmap_of_what_is_no_tensor():
    def program(x):
        distances, place = diffops.above_smallest(x)
        return distances * place

    x = torch.tensor([[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]], dtype=torch.float64)
    torch.testing.assert_close(torch.func.vmap(program)(x), torch.stack([program(example) for example in x]))
    x[1, 0] = 0.0
    with pytest.raises(ValueError, match="above_smallest: under vmap, an output that is not a tensor must be the same"):
        torch.func.vmap(program)(x)
    with pytest.raises(ValueError, match="above_smallest: vmap of an empty batch"):
        torch.func.vmap(program)(x[:0])


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.float64)


# The outputs of no examples have the shapes of this one.
NO_EXAMPLES = {
    "a number": (lambda x: diffops.windows(x, 3, 2), (zeros(7),)),
    "a number that is a tensor": (lambda x: diffops.windows(x, torch.tensor(3), 2), (zeros(7),)),
    "leading axes": (diffops.affine, (zeros(2, 3, 4), zeros(5, 4), zeros(5))),
    "several outputs": (diffops.rows, (zeros(4, 3), torch.tensor([1, 3]))),
    "a list": (lambda x, y: diffops.blend(x, [y, y], zeros(2)), (zeros(3), zeros(3))),
    "a number of each example": (diffops.boxcox, (zeros(3), zeros())),
    "gradients": (torch.func.grad(lambda *x: diffops.affine(*x).sum(), argnums=(0, 1, 2)), (zeros(2, 4), zeros(5, 4), zeros(5))),
    "a Jacobian": (torch.func.jacrev(lambda x: diffops.windows(x, 3, 2)), (zeros(7),)),
    "a map": (torch.func.vmap(diffops.centered), (zeros(2, 3, 2),)),
}


@pytest.mark.parametrize("name", NO_EXAMPLES)
def test_vmap_of_no_examples(name):
    function, example = NO_EXAMPLES[name]
    outputs = torch.func.vmap(function)(*[x.new_zeros(0, *x.shape) for x in example])
    outputs, expected = ([found] if isinstance(found, torch.Tensor) else found for found in (outputs, function(*example)))
    assert [(x.shape, x.dtype) for x in outputs] == [((0, *x.shape), x.dtype) for x in expected]


def test_vmap_of_no_examples_has_gradients():
    weight = leaf(5, 4)
    torch.func.vmap(lambda x: diffops.affine(x, weight, None))(zeros(0, 2, 4)).sum().backward()
    assert not weight.grad.any()


def test_vmap_of_no_examples_does_not_know_lengths_of_each_example():
    with pytest.raises(ValueError, match="windows: vmap of an empty batch, so the shapes of the outputs are unknown"):
        torch.func.vmap(lambda x, k: diffops.windows(x, k, 2))(zeros(0, 7), torch.ones(0, dtype=torch.int64))


@quietly
def test_transforms_are_compiled_around_it():
    x, limit = leaf(3, 4).detach(), leaf(3, 1, low=0.5).detach()
    for transform in (torch.func.grad(loss(diffops.squash)), torch.func.vmap(diffops.squash)):
        torch.testing.assert_close(torch.compile(transform, backend="aot_eager")(x, limit), transform(x, limit))


def test_modules_with_it_are_saved_and_loaded():
    file = io.BytesIO()
    torch.save(Layer(), file)
    file.seek(0)
    model = torch.load(file, weights_only=False)
    x = torch.ones(2, 4)
    torch.testing.assert_close(model(x), Layer()(x))
    assert "diffops" in sys.modules


HALVES = {
    "float16": (torch.float16, torch.float16),
    "bfloat16": (torch.bfloat16, torch.bfloat16),
    "both": (torch.float16, torch.bfloat16),
    "one": (torch.bfloat16, torch.float32),
}


@quietly
@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: torch.compile(f, backend="aot_eager", fullgraph=True)])
def test_halves_are_taken_as_float32_and_given_back(name, wrap):
    kinds = HALVES[name]
    inputs = [leaf(3, 4).detach(), leaf(3, 1, low=0.5).detach()]
    inputs = [x.to(kind).requires_grad_() for x, kind in zip(inputs, kinds)]
    y = wrap(lambda x, limit: diffops.squash(x, limit))(*inputs)
    assert y.dtype == (kinds[0] if kinds[0] == kinds[1] else torch.float32)
    torch.testing.assert_close(y, squash(*[x.float() for x in inputs]).to(y.dtype))
    grads = torch.autograd.grad(y.float().sum(), inputs)
    expected = torch.autograd.grad(squash(*[x.float() for x in inputs]).sum(), inputs)
    for grad, other, x in zip(grads, expected, inputs):
        assert grad.dtype == x.dtype
        torch.testing.assert_close(grad, other)


def test_halves_are_taken_as_float64_where_there_is_no_other():
    assert diffops.MulConstant(torch.ones(2, 2).bfloat16(), 2.5).tolist() == [[2.5, 2.5], [2.5, 2.5]]


def test_autocast_trains():
    layer, limit = torch.nn.Linear(4, 3), torch.nn.Parameter(torch.ones(1))
    with torch.autocast("cpu", torch.bfloat16):
        hidden = layer(torch.ones(2, 4))
        y = diffops.squash(hidden, limit)
        assert (hidden.dtype, y.dtype) == (torch.bfloat16, torch.float32)
        diffops.squash(hidden, limit.bfloat16()).sum().backward()
    assert layer.weight.grad.dtype == limit.grad.dtype == torch.float32


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: torch.compile(f, backend="aot_eager", fullgraph=True)])
@quietly
def test_autocast_takes_float32_as_float64_where_there_is_no_other(wrap):
    layer, weight, x = torch.nn.Linear(4, 3), leaf(2, 3, dtype=torch.float32), torch.ones(2, 4)

    def program(weight):
        hidden = layer(x)
        return diffops.affine(hidden, weight), diffops.affine(weight, weight, weight[:, 0])

    with torch.autocast("cpu", torch.bfloat16):
        y, other = wrap(program)(weight)
    assert y.dtype == other.dtype == torch.float32
    grads = torch.autograd.grad((y.sum() + other.sum()), [weight, *layer.parameters()])
    wide = weight.double()
    torch.testing.assert_close(other, (wide @ wide.t() + wide[:, 0]).float())
    assert [grad.dtype for grad in grads] == [torch.float32] * 3
    # Without it, what to write.
    with pytest.raises(Exception, match=r"affine: `x` must be float64, not float32; pass `x.double\(\)` in PyTorch"):
        wrap(lambda weight: diffops.affine(weight, weight))(weight)


def test_halves_are_an_error_where_the_module_says_so():
    diffops.half_precision(False)
    try:
        with pytest.raises(TypeError, match="squash: `x` must be float32 or float64, not bfloat16"):
            diffops.squash(torch.ones(3).bfloat16(), torch.ones(3))
    finally:
        diffops.half_precision(True)


@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_arrays_of_integers_and_of_bool(kind):
    x = leaf(4)
    places, mask = torch.tensor([[1, 3, 1], [0, 2, 3]]), torch.tensor([[True, True, False], [True, False, True]])
    values, times = diffops.lookup(x, places.to(kind), mask)
    torch.testing.assert_close(values, torch.where(mask, x[places], 0.0))
    assert times.dtype == torch.int32 and times.tolist() == [1, 1, 0, 2]
    doubled, _ = diffops.lookup(x, places, mask, factor=2.0)
    torch.testing.assert_close(torch.autograd.grad(doubled.sum(), x)[0], torch.tensor([2.0, 2.0, 0.0, 4.0]).double())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.tensor([1]), torch.ones(1, 1) > 0), r"`places` must have 2 axes, not the shape \[1\]"),
        ((torch.tensor([[256]]), torch.ones(1, 1) > 0), "`places` has 256, which is out of range"),
        ((torch.ones(1, 1), torch.ones(1, 1) > 0), "`places` must be an array of integers"),
        ((torch.tensor([[1]]), torch.tensor([[1]])), "`mask` must be an array of bool"),
    ],
)
def test_mistakes_in_arrays_of_values(arguments, text):
    with pytest.raises((TypeError, ValueError), match=f"lookup: {text}"):
        diffops.lookup(leaf(4), *arguments)


def test_values_may_be_tensors():
    x, keep = leaf(3), torch.tensor([True, False, True])
    y = diffops.masked(x, keep)
    torch.testing.assert_close(y, x * keep)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], keep.double())
    torch.testing.assert_close(diffops.windows(x, torch.tensor(2), 1), x[1:] + x[:-1])
    for flag in (True, False):
        lengths, _ = diffops.normalized(x[None], torch.tensor(flag))
        assert (lengths is not None) == flag
    points, flag = torch.rand(2, 3, 2, dtype=torch.float64), torch.tensor(True)
    lengths, _ = torch.func.vmap(lambda points: diffops.normalized(points, flag))(points)
    torch.testing.assert_close(lengths, points.norm(dim=-1))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: diffops.masked(x, x.detach()), "masked: `keep`: 'float' object is not an instance of 'bool'"),
        (lambda x: diffops.masked(x, torch.tensor(True)), "masked: `keep`: 'bool' object is not an instance of 'Sequence'"),
        (lambda x: diffops.normalized(x[None], torch.tensor(1)), "normalized: `with_lengths`: 'int' object is not an instance"),
        (lambda x: diffops.boxcox(x, torch.ones(2)), "boxcox: `lambda`: must be real number, not list"),
    ],
)
def test_mistakes_in_values_that_are_tensors(call, text):
    with pytest.raises(TypeError, match=text):
        call(leaf(3))


@quietly
def test_programs_that_pytorch_traces_have_operators():
    x, limit = leaf(3, 4).detach(), leaf(3, 1, low=0.5).detach()
    for program in (diffops.squash, torch.func.grad(loss(diffops.squash)), torch.func.vmap(diffops.squash)):
        traced = make_fx(program)(x, limit)
        assert "torch.ops.diffops.squash" in traced.code
        torch.testing.assert_close(traced(2 * x, limit), program(2 * x, limit))
    with pytest.raises(NotImplementedError, match="squash: PyTorch traces the function, and its gradients of the first"):
        torch.func.linearize(diffops.squash, x, limit)


def test_tensors_without_elements():
    with FakeTensorMode():
        y = diffops.squash(torch.ones(3, 4), torch.ones(3, 1))
        assert isinstance(y, FakeTensor) and y.shape == (3, 4)
    y = diffops.squash(torch.ones(3, 4, device="meta"), torch.ones(3, 1, device="meta"))
    assert y.is_meta and y.shape == (3, 4)


def test_types_that_inherit_from_tensors():
    class Named(torch.Tensor):
        pass

    x, limit = torch.ones(3, 4), torch.ones(3, 1)
    torch.testing.assert_close(diffops.squash(x.as_subclass(Named), limit), squash(x, limit))
    pair = diffops.squash(TwoTensor(x, 2 * x), limit)
    torch.testing.assert_close(pair.a, squash(x, limit))
    torch.testing.assert_close(pair.b, squash(2 * x, limit))


needs_fast_calls = pytest.mark.skipif(
    not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), reason="fast calls need a newer PyTorch"
)


@needs_fast_calls
def test_gradients_see_the_memory_that_a_tensor_has():
    x, limit = leaf(1000), torch.ones(1, dtype=torch.float64)
    y = diffops.squash(x, limit)
    other = torch.zeros(1000, dtype=torch.float64)
    x.data = other
    assert torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [1.0] * 1000
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert grad.tolist() == [1.0] * 1000
    # A negated view has the same memory.
    limit = leaf(1, low=0.5)
    y = diffops.squash(leaf(1000), limit)
    (expected,) = torch.autograd.grad(y.sum(), limit, retain_graph=True)
    assert expected.item() != 0
    limit.data = torch._neg_view(limit.data)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), limit)[0], -expected)
    # An array function has the tensors in its hands.
    w = leaf(3, 4, dtype=torch.float32)
    y = diffops.linear(torch.ones(2, 4), w)
    w.data = torch.zeros(3, 4)
    assert torch.autograd.grad(y.sum(), w)[0].tolist() == [[2.0] * 4] * 3


@needs_fast_calls
def test_threads_are_those_of_torch_unless_they_are_set():
    program = """
x = torch.linspace(-2, 2, 1_000_000)
for count in (1, 3, 2):
    torch.set_num_threads(count)
    diffops.squash(x, torch.ones(1))
    assert diffops.get_num_threads() == count
diffops.set_num_threads(5)
diffops.squash(x, torch.ones(1))
assert diffops.get_num_threads() == 5
"""
    environment = {name: value for name, value in os.environ.items() if name != "PULLBACK_NUM_THREADS"}
    command = [sys.executable, "-W", "ignore", "-c", "import diffops, torch" + program]
    subprocess.run(command, check=True, env=environment)
    with pytest.raises(ValueError, match="the number of threads must be 1 or more"):
        diffops.set_num_threads(0)


def test_default_values():
    assert str(inspect.signature(diffops.lookup)) == "(x, places, mask, factor=1.0)"
