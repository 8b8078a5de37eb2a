// The twin of heat_step in heat.c: the same sums in the same order, so the same bits.

#include <cstddef>

namespace {

// A field of numbers, addressed by row and column.
template <typename Number>
class Field {
public:
    Field(Number *cells, std::size_t columns) : cells_(cells), columns_(columns) {}

    Number &operator()(std::size_t row, std::size_t column) const {
        return cells_[row * columns_ + column];
    }

private:
    Number *cells_;
    std::size_t columns_;
};

}  // namespace

extern "C" void heat_step_cpp(std::size_t rows, std::size_t columns, const double *share,
                              const double *east, const double *south, const double *before,
                              double *after) {
    const Field<const double> shares(share, columns), right(east, columns), below(south, columns);
    const Field<const double> now(before, columns);
    const Field<double> next(after, columns);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            const double own = now(i, j);
            double flow = 0.0;
            if (j + 1 < columns) flow += right(i, j) * (now(i, j + 1) - own);
            if (j > 0) flow += right(i, j - 1) * (now(i, j - 1) - own);
            if (i + 1 < rows) flow += below(i, j) * (now(i + 1, j) - own);
            if (i > 0) flow += below(i - 1, j) * (now(i - 1, j) - own);
            next(i, j) = own + shares(i, j) * flow;
        }
    }
}
