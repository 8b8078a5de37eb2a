// A node of libtorch's graph that calls Rust, and the accesses to tensors that `tch` does not have. The Rust side of
// every function is in `ffi.rs`.
//
// Functions that Rust calls catch all exceptions, and functions of Rust catch all panics: both return a message, or
// null for success.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/autograd/saved_variable.h>

namespace {

using at::Tensor;
using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;
using Text = std::string;

// One backward of a node.
struct Backward {
  // Null if undefined.
  const Tensor* const* grads;
  size_t outputs;
  const bool* needed;
  size_t inputs;
  bool create_graph;
  // The fields from here on are results. For each input its gradient, which C++ frees, or null.
  Tensor** results;
  // The recording of the gradients, or null, and for each gradient whether it has a history.
  void* next;
  bool* requires_grad;
};

// The functions of Rust and the name of a node.
struct Callbacks {
  Text* (*backward)(const void* saved, Backward* pass);
  void (*free_saved)(void* saved);
  const char* name;
  size_t name_length;
};

template <class F>
Text* guarded(F&& function) {
  try {
    function();
    return nullptr;
  } catch (const c10::Error& error) {
    return new Text(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return new Text(error.what());
  } catch (...) {
    return new Text("an exception of an unknown type");
  }
}

struct PullbackNode final : Node {
  PullbackNode(std::shared_ptr<void> saved, const Callbacks& callbacks, edge_list&& edges)
      : Node(std::move(edges)), callbacks_(callbacks), saved_(std::move(saved)) {}

  std::string name() const override {
    return std::string(callbacks_.name, callbacks_.name_length);
  }

  // Called after a backward that does not retain the graph.
  void release_variables() override {
    std::shared_ptr<void> saved;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      saved.swap(saved_);
    }
  }

  void release_resources() override {
    Node::release_resources();
    release_variables();
  }

  // Returns the gradients of the first edges, those of the function's inputs. A node of gradients has more edges.
  variable_list apply(variable_list&& grads) override;

 private:
  Callbacks callbacks_;
  // A pass holds a reference while it runs, so that another thread may release this one.
  std::shared_ptr<void> saved_;
};

// Makes the outputs that require grad those of a new node, which owns `saved`.
void record(std::shared_ptr<void> saved, const Callbacks& callbacks, edge_list&& edges, Tensor* const* outputs,
            const bool* requires_grad, size_t length) {
  auto node = c10::make_intrusive<PullbackNode>(std::move(saved), callbacks, std::move(edges));
  for (size_t k = 0; k < length; k++) {
    if (requires_grad[k])
      torch::autograd::set_history(*outputs[k], node);
    else
      node->add_input_metadata(Node::undefined_input());
  }
}

variable_list PullbackNode::apply(variable_list&& grads) {
  std::shared_ptr<void> saved;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    saved = saved_;
  }
  TORCH_CHECK(saved, torch::autograd::ERR_BACKWARD_TWICE);

  std::vector<const Tensor*> given;
  for (auto& grad : grads) {
    if (grad.defined() && grad.layout() != at::kStrided)
      grad = grad.to_dense();
    given.push_back(grad.defined() ? &grad : nullptr);
  }
  const size_t inputs = num_outputs();
  auto needed = std::make_unique<bool[]>(inputs);
  auto requires_grad = std::make_unique<bool[]>(inputs);
  for (size_t i = 0; i < inputs; i++)
    needed[i] = task_should_compute_output(i);

  std::vector<Tensor*> results(inputs, nullptr);
  Backward pass{given.data(),   given.size(),   needed.get(), inputs, torch::autograd::GradMode::is_enabled(),
                results.data(), nullptr,        requires_grad.get()};
  const std::unique_ptr<Text> error(callbacks_.backward(saved.get(), &pass));
  if (error)
    throw std::runtime_error(*error);

  std::vector<std::unique_ptr<Tensor>> owned(results.begin(), results.end());
  if (pass.next) {
    std::shared_ptr<void> next(pass.next, callbacks_.free_saved);
    edge_list edges = next_edges();
    for (const auto& grad : grads)
      edges.push_back(grad.defined() ? torch::autograd::impl::gradient_edge(grad) : Edge());
    record(std::move(next), callbacks_, std::move(edges), results.data(), requires_grad.get(), inputs);
  }
  variable_list found;
  for (auto& result : owned)
    found.push_back(result ? std::move(*result) : Tensor());
  return found;
}

}  // namespace

extern "C" {

Text* pullback_tch_text(const char* characters, size_t length) {
  return new Text(characters, length);
}

const char* pullback_tch_text_read(const Text* text, size_t* length) {
  *length = text->size();
  return text->data();
}

void pullback_tch_text_free(Text* text) {
  delete text;
}

// Returns a handle on the memory of a tensor in row-major order, with its version. `shared` is whether the memory is
// the tensor's own and not a copy. `held` stays null for a tensor that no function takes.
Text* pullback_tch_hold(const Tensor* of, Tensor** held, bool* shared, bool* requires_grad) {
  return guarded([&] {
    const auto& tensor = *of;
    if (!tensor.defined() || !tensor.is_cpu() || tensor.layout() != at::kStrided || tensor.is_nested())
      return;
    if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble)
      return;
    // Not the tensor itself: an operation in place could make it depend on the node that holds it.
    const auto& versions = torch::autograd::impl::version_counter(tensor);
    Tensor alias(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(versions, false));
    *shared = alias.is_contiguous() && !alias.is_neg() && !alias._is_zerotensor();
    if (!*shared)
      alias = at::empty(alias.sizes(), alias.options()).copy_(alias);
    *requires_grad = torch::autograd::GradMode::is_enabled() && tensor.requires_grad();
    *held = new Tensor(std::move(alias));
  });
}

// Returns the elements, or null if there are fewer bytes: another handle can resize the memory.
const void* pullback_tch_data(const Tensor* held, size_t bytes) {
  const auto& storage = held->storage();
  const size_t offset = held->storage_offset() * held->element_size();
  return offset + bytes <= storage.nbytes() ? static_cast<const char*>(storage.data()) + offset : nullptr;
}

uint32_t pullback_tch_version(const Tensor* held) {
  const auto& versions = torch::autograd::impl::version_counter(*held);
  return versions.enabled() ? versions.current_version() : 0;
}

// Makes a tensor that owns memory of Rust.
Text* pullback_tch_tensor(void* data, const int64_t* sizes, size_t rank, bool is_double, void* memory,
                          void (*free_memory)(void*), Tensor** tensor) {
  return guarded([&] {
    *tensor = new Tensor(at::for_blob(data, at::IntArrayRef(sizes, rank))
                             .context(memory, free_memory)
                             .options(at::TensorOptions(is_double ? at::kDouble : at::kFloat))
                             .target_device(at::Device(at::kCPU))
                             .make_tensor());
  });
}

// Takes ownership of `saved`, even if it fails.
Text* pullback_tch_record(void* pointer, const Callbacks* callbacks, const Tensor* const* inputs, size_t inputs_length,
                          Tensor* const* outputs, const bool* requires_grad, size_t outputs_length) {
  return guarded([&] {
    std::shared_ptr<void> saved(pointer, callbacks->free_saved);
    edge_list edges;
    for (size_t i = 0; i < inputs_length; i++)
      edges.push_back(torch::autograd::impl::gradient_edge(*inputs[i]));
    record(std::move(saved), *callbacks, std::move(edges), outputs, requires_grad, outputs_length);
  });
}

}  // extern "C"
