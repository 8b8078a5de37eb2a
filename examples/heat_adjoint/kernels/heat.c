/* One explicit step of the heat equation, and its adjoint.
 *
 * A plate of rows by columns cells, row by row. Between a cell and its right neighbor is the conductance
 * east[cell], between it and the one below south[cell]; both are 0 at the edges, which are insulated. share[cell] is
 * the length of the step over the cell's heat capacity. Lengths are checked by the caller. */

#include <stddef.h>

void heat_step(size_t rows, size_t columns, const double *restrict share,
               const double *restrict east, const double *restrict south,
               const double *restrict before, double *restrict after) {
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++) {
            const size_t cell = row * columns + column;
            const double own = before[cell];
            double flow = 0.0;
            if (column + 1 < columns) flow += east[cell] * (before[cell + 1] - own);
            if (column > 0) flow += east[cell - 1] * (before[cell - 1] - own);
            if (row + 1 < rows) flow += south[cell] * (before[cell + columns] - own);
            if (row > 0) flow += south[cell - columns] * (before[cell - columns] - own);
            after[cell] = own + share[cell] * flow;
        }
    }
}

/* The transposed step: the gradient with respect to the temperatures before, from grad_after. A step is
 * 1 + diag(share) L with symmetric L, so its transpose is 1 + L diag(share): shares are the neighbors' here. */
void heat_step_adjoint(size_t rows, size_t columns, const double *restrict share,
                       const double *restrict east, const double *restrict south,
                       const double *restrict grad_after, double *restrict grad_before) {
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < columns; column++) {
            const size_t cell = row * columns + column;
            const double own = share[cell] * grad_after[cell];
            double back = 0.0;
            if (column + 1 < columns) back += east[cell] * (share[cell + 1] * grad_after[cell + 1] - own);
            if (column > 0) back += east[cell - 1] * (share[cell - 1] * grad_after[cell - 1] - own);
            if (row + 1 < rows)
                back += south[cell] * (share[cell + columns] * grad_after[cell + columns] - own);
            if (row > 0)
                back += south[cell - columns] * (share[cell - columns] * grad_after[cell - columns] - own);
            grad_before[cell] = grad_after[cell] + back;
        }
    }
}
