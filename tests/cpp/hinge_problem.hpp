// Random problems for the tests of the hinge engine, and the same problems in
// dense form: group effects as ordinary columns.
#pragma once

#include "rows/rows.hpp"
#include "prior/blocks.hpp"
#include "parallel/executor.hpp"
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using bayeskernel::Block;
using bayeskernel::Index;
using bayeskernel::MatrixXd;
using bayeskernel::PackedRows;
using bayeskernel::Prior;
using bayeskernel::VectorXd;

struct Shape {
  Index n = 40;
  Index fixed = 2;         // known Gaussian prior
  Index penalised = 0;     // one iid block
  Index held = 0;          // one block of known precision
  Index kept_members = 0;  // a random term that stays in theta
  Index kept_width = 1;
  Index groups = 0;  // the eliminated random term
  Index width = 1;
  bool weights = false;
  bool offset = false;
};

struct Problem {
  PackedRows rows;
  Prior prior;
  std::vector<Index> group_begin;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  double normal() { return normal_(engine_); }
  double uniform() { return uniform_(engine_); }
  // 0 .. n - 1.
  Index below(Index n) {
    return static_cast<Index>(uniform() * static_cast<double>(n));
  }
  MatrixXd matrix(Index rows, Index columns) {
    return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(); });
  }
  MatrixXd positive_definite(Index r) {
    const MatrixXd a = matrix(r, r + 2);
    return 0.3 * a * a.transpose() + 0.2 * MatrixXd::Identity(r, r);
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

inline Block make_block(Index first, Index members, Index width, Draw& draw) {
  Block block;
  block.first = first;
  block.members = members;
  block.width = width;
  if (width == 1) {
    block.kind = Block::Kind::iid;
    block.shape = 0.01 + 2.0 * draw.uniform();
    block.rate = 0.01 + 2.0 * draw.uniform();
  } else {
    block.kind = Block::Kind::unstructured;
    block.df = static_cast<double>(width) + 1.0 + draw.uniform();
    block.scale = draw.positive_definite(width);
  }
  return block;
}

inline Problem make_problem(const Shape& shape, unsigned seed) {
  Draw draw(seed);
  Problem out;
  const Index n = shape.n, r = shape.groups > 0 ? shape.width : 0;
  const Index before_kept = shape.fixed + shape.penalised + shape.held;
  const Index p = before_kept + shape.kept_members * shape.kept_width;

  PackedRows& rows = out.rows;
  rows.x = MatrixXd::Zero(p, n);
  rows.x.topRows(before_kept) = draw.matrix(before_kept, n);
  if (shape.fixed > 0) rows.x.row(0).setOnes();
  for (Index i = 0; shape.kept_members > 0 && i < n; ++i) {
    const Index at =
        before_kept + draw.below(shape.kept_members) * shape.kept_width;
    rows.x(at, i) = 1.0;
    for (Index k = 1; k < shape.kept_width; ++k) {
      rows.x(at + k, i) = draw.normal();
    }
  }
  rows.z = draw.matrix(r, n);
  if (r > 0) rows.z.row(0).setOnes();
  rows.weight = VectorXd::Ones(n);
  rows.offset = VectorXd::Zero(n);
  rows.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    if (shape.weights) rows.weight[i] = 0.2 + 2.0 * draw.uniform();
    if (shape.offset) rows.offset[i] = draw.normal();
  }
  if (shape.groups > 0) {
    std::vector<Index> size(shape.groups, 0);
    for (Index i = 0; i < n; ++i) ++size[draw.below(shape.groups)];
    out.group_begin.assign(1, 0);
    for (const Index count : size) {
      out.group_begin.push_back(out.group_begin.back() + count);
    }
  }
  const VectorXd slope = draw.matrix(p, 1);
  const MatrixXd effect = draw.matrix(r, shape.groups);
  for (Index i = 0, g = 0; i < n; ++i) {
    double f = rows.offset[i] + slope.dot(rows.x.col(i));
    if (r > 0) {
      while (out.group_begin[g + 1] <= i) ++g;
      f += effect.col(g).dot(rows.z.col(i));
    }
    rows.y[i] = f + draw.normal() > 0.0 ? 1.0 : -1.0;
  }

  Prior& prior = out.prior;
  prior.precision = VectorXd::Zero(p);
  prior.mean = VectorXd::Zero(p);
  for (Index k = 0; k < shape.fixed; ++k) {
    prior.precision[k] = 0.05 + draw.uniform();
    prior.mean[k] = 0.5 * draw.normal();
  }
  if (shape.penalised > 0) {
    prior.blocks.push_back(make_block(shape.fixed, shape.penalised, 1, draw));
  }
  if (shape.held > 0) {
    Block block;
    block.kind = Block::Kind::held;
    block.first = shape.fixed + shape.penalised;
    block.members = shape.held;
    block.precision = 0.3 + draw.uniform();
    prior.blocks.push_back(block);
  }
  if (shape.kept_members > 0) {
    prior.blocks.push_back(
        make_block(before_kept, shape.kept_members, shape.kept_width, draw));
  }
  if (shape.groups > 0) {
    Block block = make_block(p, shape.groups, shape.width, draw);
    block.eliminated = true;
    prior.blocks.push_back(block);
  }
  rows.finish(out.group_begin);
  return out;
}

// The same with half t standard deviations of the learned blocks.
inline Problem with_half_t(Problem problem, double df) {
  for (Block& block : problem.prior.blocks) {
    if (block.kind == Block::Kind::held) continue;
    block.half_t = {df, 0.5 + static_cast<double>(block.members % 3)};
  }
  return problem;
}

// Any mixture of parts, for tests over many random problems.
inline Shape random_shape(unsigned seed) {
  Draw draw(seed + 7919u);
  Shape shape;
  shape.n = 8 + draw.below(60);
  shape.fixed = draw.below(4);
  shape.penalised = draw.below(3) == 0 ? 1 + draw.below(5) : 0;
  shape.held = draw.below(4) == 0 ? 1 + draw.below(3) : 0;
  shape.kept_members = draw.below(3) == 0 ? 2 + draw.below(4) : 0;
  shape.kept_width = 1 + draw.below(2);
  shape.groups = draw.below(2) == 0 ? 1 + draw.below(12) : 0;
  shape.width = 1 + draw.below(3);
  if (shape.fixed + shape.penalised + shape.held + shape.groups == 0) {
    shape.fixed = 1;
  }
  shape.weights = draw.below(2) == 0;
  shape.offset = draw.below(2) == 0;
  return shape;
}

// The same problem with the group effects as columns of x, group by group.
inline Problem dense_twin(const Problem& problem) {
  const Index n = problem.rows.rows(), p = problem.rows.x_columns();
  const Index r = problem.rows.z_columns(), groups = problem.rows.groups();
  Problem out;
  out.prior = problem.prior;
  out.rows.x = MatrixXd::Zero(p + groups * r, n);
  out.rows.x.topRows(p) = problem.rows.x;
  for (Index g = 0; g < groups; ++g) {
    const Index end = problem.group_begin[g + 1];
    for (Index i = problem.group_begin[g]; i < end; ++i) {
      out.rows.x.block(p + g * r, i, r, 1) = problem.rows.z.col(i);
    }
  }
  out.rows.z.resize(0, n);
  out.rows.y = problem.rows.y;
  out.rows.weight = problem.rows.weight;
  out.rows.offset = problem.rows.offset;
  for (Block& block : out.prior.blocks) block.eliminated = false;
  out.prior.precision.conservativeResizeLike(VectorXd::Zero(p + groups * r));
  out.prior.mean.conservativeResizeLike(VectorXd::Zero(p + groups * r));
  out.rows.finish({});
  return out;
}

struct ReverseExecutor final : bayeskernel::Executor {
  int threads() const override { return 1; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override {
    for (Index block = n_blocks; block-- > 0;) body(block);
  }
};

// Block b on thread b mod `threads`.
class ThreadExecutor final : public bayeskernel::Executor {
 public:
  explicit ThreadExecutor(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void run(Index n_blocks, const std::function<void(Index)>& body) override {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads_; ++t) {
      workers.emplace_back([&, t] {
        for (Index block = t; block < n_blocks; block += threads_) body(block);
      });
    }
    for (std::thread& worker : workers) worker.join();
  }

 private:
  int threads_;
};
