"""Squash in PyTorch: a loss, and its gradients by two tensors."""

import diffops
import torch

x = ((torch.arange(100, dtype=torch.float64) - 50) / 10).requires_grad_()
limit = torch.tensor([1.5], dtype=torch.float64, requires_grad=True)
loss = (diffops.squash(x, limit) ** 2).sum()
loss.backward()
print(f"loss {loss.item():.16e}")
print(f"grad x: {x.grad.abs().sum().item():.16e}")
print(f"grad limit: {limit.grad.abs().sum().item():.16e}")
