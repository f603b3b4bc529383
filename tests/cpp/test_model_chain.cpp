#include <Eigen/LU>
#include "gibbs/missing_averages.hpp"
#include "gibbs/model_recorder.hpp"
#include "likelihood/probability.hpp"
#include "math/normal.hpp"
#include <cmath>
#include <functional>

#include "check.hpp"
#include "model_problem.hpp"

using bayeskernel::ArrowVector;
using bayeskernel::Executor;
using bayeskernel::Family;
using bayeskernel::GibbsChain;
using bayeskernel::MissingGibbs;
using bayeskernel::Purpose;
using bayeskernel::RowModel;
using bayeskernel::SelectionGibbs;
using bayeskernel::SerialExecutor;
using bayeskernel::Stream;
using bayeskernel::ModelChain;
using bayeskernel::ModelState;

// --- identities --------------------------------------------------------------

static ModelChain make_chain(const ModelProblem& problem,
                                  Executor& executor, std::uint64_t seed = 1,
                                  std::uint64_t chain = 1) {
  return ModelChain(problem.rows, problem.prior, problem.selection,
                         problem.holes, executor, seed, chain);
}

static ModelState after(const ModelProblem& problem,
                             Executor& executor, int sweeps,
                             std::uint64_t seed = 1, std::uint64_t chain = 1) {
  ModelChain sampler = make_chain(problem, executor, seed, chain);
  for (int t = 0; t < sweeps; ++t) sampler.sweep();
  return sampler.state();
}

static bool same_bits(const ModelState& a, const ModelState& b) {
  return a.base.point.x == b.base.point.x &&
         a.base.point.group == b.base.point.group &&
         a.base.precision == b.base.precision &&
         a.base.sweep == b.base.sweep && a.selection.in == b.selection.in &&
         a.selection.b == b.selection.b &&
         a.selection.precision == b.selection.precision &&
         a.selection.logit_rho == b.selection.logit_rho &&
         a.selection.probability == b.selection.probability &&
         a.missing.value == b.missing.value && a.missing.mean == b.missing.mean &&
         a.missing.covariance == b.missing.covariance;
}

TEST("a chain of any family goes on, whatever parts the model has") {
  ModelShape shape;
  shape.n = 40;
  shape.extra = 2;
  ModelProblem problem = make_model(shape, 12);
  problem.rows.weight.setOnes();
  // Every row twice, as completions of one unit.
  bayeskernel::Completions units;
  for (Index i = 0; i < shape.n; ++i) units.unit.push_back(i / 2 + 1);
  units.log_prior = VectorXd::Constant(shape.n, -std::log(2.0));
  const MissingPattern complete;
  SerialExecutor serial;
  for (const bool completions : {false, true}) {
    for (const Family family :
         {Family::hinge, Family::probit, Family::logit, Family::gaussian}) {
      RowModel model;
      model.family = family;
      if (completions) model.completions = &units;
      const auto make = [&] {
        return std::make_unique<ModelChain>(
            problem.rows, problem.prior, problem.selection,
            completions ? complete : problem.holes, serial, 4, 1, model);
      };
      const auto first = make(), second = make();
      for (int t = 0; t < 5; ++t) first->sweep();
      second->sweep();
      second->restore(first->state());
      for (int t = 0; t < 4; ++t) {
        first->sweep();
        second->sweep();
      }
      CHECK(same_bits(first->state(), second->state()));
      CHECK(first->base().noise == second->base().noise);
    }
  }
}

static std::vector<ModelShape> part_shapes(Index n) {
  std::vector<ModelShape> out;
  for (int bits = 0; bits < 8; ++bits) {
    ModelShape shape;
    shape.n = n;
    shape.groups = (bits & 1) ? n / 20 : 0;
    shape.selection = (bits & 2) != 0;
    shape.holes = (bits & 4) != 0;
    shape.extra = 4;
    out.push_back(shape);
  }
  return out;
}

TEST("any executor gives the same states, whatever parts the model has") {
  for (const ModelShape& shape : part_shapes(5000)) {
    const ModelProblem problem = make_model(shape, 1);
    SerialExecutor serial;
    const ModelState expected = after(problem, serial, 3);
    ReverseExecutor reverse;
    CHECK(same_bits(after(problem, reverse, 3), expected));
    for (int threads : {2, 4}) {
      ThreadExecutor executor(threads);
      CHECK(same_bits(after(problem, executor, 3), expected));
    }
  }
}

TEST("a chain goes on from a stored state as if it had not stopped") {
  for (const ModelShape& shape : part_shapes(60)) {
    const ModelProblem problem = make_model(shape, 2);
    SerialExecutor serial;
    ModelChain resumed = make_chain(problem, serial, 5, 3);
    resumed.sweep();
    resumed.restore(after(problem, serial, 7, 5, 3));
    for (int t = 0; t < 6; ++t) resumed.sweep();
    CHECK(same_bits(resumed.state(), after(problem, serial, 13, 5, 3)));
  }
}

TEST("without selection and holes it is the plain chain") {
  ModelShape shape;
  shape.n = 50;
  shape.selection = shape.holes = false;
  const ModelProblem problem = make_model(shape, 3);
  SerialExecutor serial;
  GibbsChain plain(problem.rows, problem.prior, serial, 1, 1);
  for (int t = 0; t < 5; ++t) plain.sweep();
  CHECK(after(problem, serial, 5).base.point.x == plain.state.point.x);
}

TEST("chains and seeds differ, and start apart") {
  ModelShape shape;
  shape.n = 40;
  shape.extra = 30;
  const ModelProblem problem = make_model(shape, 4);
  SerialExecutor serial;
  const ModelState a = after(problem, serial, 0, 1, 1);
  for (const ModelState& b :
       {after(problem, serial, 0, 1, 2), after(problem, serial, 0, 2, 1)}) {
    CHECK(a.selection.in != b.selection.in);
    CHECK(a.selection.precision != b.selection.precision);
    CHECK((a.missing.value - b.missing.value).cwiseAbs().minCoeff() > 0.0);
  }
  shape.extra = 600;
  const ModelProblem many = make_model(shape, 5);
  CHECK(after(many, serial, 0).selection.in.isZero(0.0));
}

TEST("more columns than rows, some of them copies, do not stop the chain") {
  ModelShape shape;
  shape.n = 12;
  shape.extra = 40;
  ModelProblem problem = make_model(shape, 6);
  for (Index k = 10; k < 20; ++k) problem.rows.x.row(k) = problem.rows.x.row(9);
  problem.selection.shape = problem.selection.rate = 0.01;
  SerialExecutor serial;
  const ModelState state = after(problem, serial, 400);
  CHECK(state.base.point.x.allFinite());
  CHECK(state.selection.precision >= 1e-101);
  CHECK(state.selection.probability.minCoeff() >= 0.0);
  CHECK(state.selection.probability.maxCoeff() <= 1.0);
}

// --- one hole ----------------------------------------------------------------

static double normal_cdf_of(double x) {
  return std::exp(bayeskernel::log_normal_cdf(x));
}

TEST("the scaled tail agrees with the logarithm of the normal integral") {
  for (double t = -37.0; t < 60.0; t += 0.37) {
    const double expected =
        t < 5.0 ? 0.5 * t * t + bayeskernel::log_normal_cdf(-t)
                : -std::log(bayeskernel::below_normal(-t).slope) -
                      0.91893853320467274178;
    CHECK_NEAR(std::log(bayeskernel::scaled_normal_tail(t)), expected, 5e-11);
  }
  CHECK(bayeskernel::scaled_normal_tail(1e9) > 0.0);
}

TEST("a tilted normal has the two-piece law") {
  const double cases[][2] = {{0.3, 1.2},   {-2.0, 0.5}, {2.5, 3.0},
                             {-6.0, 5.0},  {40.0, 1.0}, {0.0, 1e-9},
                             {-9.0, 20.0}, {-30.0, 8.0}};
  std::uint64_t number = 0;
  for (const auto& c : cases) {
    const double at = c[0], tilt = c[1];
    Stream stream(1, ++number, Purpose::missing, 0, 0);
    std::vector<double> sample(static_cast<std::size_t>(check::draws()));
    for (double& x : sample) {
      x = bayeskernel::tilted_normal(stream, at, tilt);
    }
    // Weights relative to the larger piece.
    const double above = bayeskernel::log_normal_cdf(at);
    const double below = at * tilt + 0.5 * tilt * tilt +
                         bayeskernel::log_normal_cdf(-at - tilt);
    const double share = 1.0 / (1.0 + std::exp(above - below));  // of below
    const auto cdf = [&](double x) {
      if (x < -at) {
        return share * normal_cdf_of(x - tilt) / normal_cdf_of(-at - tilt);
      }
      return share + (1.0 - share) *
                         (normal_cdf_of(at) - normal_cdf_of(-x)) /
                         normal_cdf_of(at);
    };
    CHECK_LAW(sample, cdf);
  }
}

// Mean and covariance of the holes of row i by a grid over their conditional
// prior, weighted by the likelihood.
struct GridMoments {
  VectorXd mean;
  MatrixXd covariance;
};

static GridMoments grid_moments(
    const VectorXd& mean, const MatrixXd& covariance, double weight, double y,
    const std::function<double(const VectorXd&)>& f) {
  const Index h = mean.size();
  const MatrixXd root = Eigen::LLT<MatrixXd>(covariance).matrixL();
  const int steps = h == 1 ? 40001 : 1201;
  const double width = 20.0 / (steps - 1);
  GridMoments out{VectorXd::Zero(h), MatrixXd::Zero(h, h)};
  double total = 0.0;
  VectorXd e(h);
  for (int a = 0; a < steps; ++a) {
    e[0] = -10.0 + width * a;
    for (int b = 0; b < (h == 1 ? 1 : steps); ++b) {
      if (h == 2) e[1] = -10.0 + width * b;
      const VectorXd x = mean + root * e;
      const double loss = std::max(1.0 - y * f(x), 0.0);
      const double mass =
          std::exp(-0.5 * e.squaredNorm() - 2.0 * weight * loss);
      total += mass;
      out.mean += mass * x;
      out.covariance += mass * x * x.transpose();
    }
  }
  out.mean /= total;
  out.covariance =
      (out.covariance / total - out.mean * out.mean.transpose()).eval();
  return out;
}

TEST("values of one hole and of two have the moments of the integrals") {
  ModelShape shape;
  shape.n = 60;
  shape.share = 0.5;
  shape.groups = 4;
  const ModelProblem problem = make_model(shape, 7);
  PackedRows rows = problem.rows;
  SerialExecutor serial;
  MissingGibbs step(problem.holes, rows, serial, 1, 1);
  Draw draw(8);
  step.state.mean = VectorXd::Constant(2, 0.4);
  step.state.covariance << 1.3, 0.5, 0.5, 0.8;
  ArrowVector point(4, 2, 4);
  point.x << 0.4, -0.7, 1.6, -1.2;
  point.group = draw.matrix(2, 4);

  const int draws = check::slow() ? 60000 : 8000;
  VectorXd sum = VectorXd::Zero(problem.holes.count);
  std::vector<VectorXd> values(static_cast<std::size_t>(draws));
  for (int t = 0; t < draws; ++t) {
    step.draw_values(point, static_cast<std::uint64_t>(t));
    values[t] = step.state.value;
    sum += step.state.value;
  }
  const VectorXd mean = sum / draws;
  double largest = 0.0;
  int checked[3] = {0, 0, 0};
  for (const MissingPattern::Row& row : problem.holes.rows) {
    const std::vector<Index>& missing = problem.holes.patterns[row.pattern];
    const Index h = static_cast<Index>(missing.size());
    if (++checked[h] > (h == 1 ? 20 : check::slow() ? 8 : 2)) continue;
    Index group = 0;
    while (problem.group_begin[group + 1] <= row.row) ++group;
    // Conditional moments of the missing given the observed.
    const MatrixXd& sigma = step.state.covariance;
    VectorXd m = step.state.mean;
    MatrixXd v = sigma;
    if (h == 1) {
      const Index a = missing[0], o = 1 - a;
      const double slope = sigma(a, o) / sigma(o, o);
      m = VectorXd::Constant(
          1, m[a] + slope * (problem.holes.x(o, row.row) - m[o]));
      v = MatrixXd::Constant(1, 1, sigma(a, a) - slope * sigma(a, o));
    }
    const auto f = [&](const VectorXd& x) {
      VectorXd full = problem.holes.x.col(row.row);
      for (Index j = 0; j < h; ++j) full[missing[j]] = x[j];
      return problem.rows.offset[row.row] + point.x[0] +
             point.x[1] * problem.known[row.row] * full[0] +
             point.x[2] * full[0] + point.x[3] * (0.2 + 0.7 * full[1]) +
             point.group(0, group) + point.group(1, group) * full[0];
    };
    const GridMoments expected = grid_moments(
        m, v, problem.rows.weight[row.row], problem.rows.y[row.row], f);
    for (Index j = 0; j < h; ++j) {
      for (Index k = 0; k <= j; ++k) {
        double moment = 0.0, fourth = 0.0;
        for (const VectorXd& x : values) {
          const double product = (x[row.first + j] - expected.mean[j]) *
                                 (x[row.first + k] - expected.mean[k]);
          moment += product;
          fourth += product * product;
        }
        moment /= draws;
        const double error =
            std::sqrt((fourth / draws - moment * moment) / draws);
        largest = std::max(
            largest, std::abs(moment - expected.covariance(j, k)) / error);
      }
      largest = std::max(largest,
                         std::abs(mean[row.first + j] - expected.mean[j]) /
                             std::sqrt(expected.covariance(j, j) / draws));
    }
  }
  CHECK(checked[1] > 5 && checked[2] > 1);
  CHECK(largest < 4.7);
  std::printf("holes against integrals: largest |z| %.2f\n", largest);
}

TEST("the chain's rows follow the values of the holes") {
  ModelShape shape;
  shape.n = 40;
  const ModelProblem problem = make_model(shape, 9);
  PackedRows rows = problem.rows;
  SerialExecutor serial;
  MissingGibbs step(problem.holes, rows, serial, 1, 1);
  ArrowVector point(4, 2, 3);
  point.x << 0.4, -0.7, 1.6, -1.2;
  point.group.setConstant(0.3);
  step.draw_values(point, 0);
  Eigen::ArrayXd f;
  step.latent(point, f);
  MatrixXd expected = problem.rows.x, expected_z = problem.rows.z;
  for (std::size_t i = 0; i < problem.holes.rows.size(); ++i) {
    const MissingPattern::Row& row = problem.holes.rows[i];
    const std::vector<Index>& missing = problem.holes.patterns[row.pattern];
    for (std::size_t j = 0; j < missing.size(); ++j) {
      const double x = step.state.value[row.first + static_cast<Index>(j)];
      if (missing[j] == 0) {
        expected(1, row.row) = problem.known[row.row] * x;
        expected(2, row.row) = x;
        expected_z(1, row.row) = x;
      } else {
        expected(3, row.row) = 0.2 + 0.7 * x;
      }
    }
    CHECK_NEAR(f[static_cast<Index>(i)],
               problem.rows.offset[row.row] +
                   point.x.dot(expected.col(row.row)) +
                   0.3 * expected_z.col(row.row).sum(),
               1e-13);
  }
  CHECK((rows.x - expected).cwiseAbs().maxCoeff() < 1e-14);
  CHECK((rows.z - expected_z).cwiseAbs().maxCoeff() < 1e-14);
}

// --- selection given the latent a --------------------------------------------

TEST("indicators, theta and u given a have the law of the enumeration") {
  ModelShape shape;
  shape.n = 30;
  shape.holes = false;
  shape.extra = 1;
  const ModelProblem problem = make_model(shape, 10);
  const Index p = 5, groups = shape.groups, d = p + 2 * groups;
  SerialExecutor serial;
  GibbsChain chain(problem.rows, problem.prior, serial, 1, 1);
  SelectionGibbs step(problem.selection, problem.prior, 2, groups, 1, 1);
  chain.state.point.x << 0.2, 0.1, 0.4, -0.3, 0.0;
  step.state.b << 0.5, 2.0, 1.2;
  step.state.precision = 0.8;
  step.state.logit_rho = -0.4;
  chain.latent_pass();

  // Precision and shift of (theta, u) in dense form.
  MatrixXd a = MatrixXd::Zero(d, d);
  VectorXd h(d);
  MatrixXd gram = chain.sums().curvature.gram;
  problem.prior.add_precision(chain.state.precision, gram);
  for (Index k = 0; k < 3; ++k) {
    gram(2 + k, 2 + k) += step.state.b[k] * step.state.precision;
  }
  a.topLeftCorner(p, p) = gram.selfadjointView<Eigen::Lower>();
  a.topRightCorner(p, d - p) = chain.sums().curvature.cross;
  a.bottomLeftCorner(d - p, p) = chain.sums().curvature.cross.transpose();
  for (Index g = 0; g < groups; ++g) {
    a.block(p + 2 * g, p + 2 * g, 2, 2) =
        chain.sums().curvature.group_gram.middleCols(2 * g, 2) +
        chain.state.precision[1];
  }
  h << chain.sums().linear.x, chain.sums().linear.effects();
  VectorXd probability(8), mean = VectorXd::Zero(d);
  MatrixXd square = MatrixXd::Zero(d, d);
  std::vector<VectorXd> means;
  std::vector<MatrixXd> squares;
  for (unsigned bits = 0; bits < 8; ++bits) {
    std::vector<Index> in;
    double log_mass = 0.0;
    for (Index k = 0; k < d; ++k) {
      const bool selected = k >= 2 && k < p;
      if (selected && !(bits >> (k - 2) & 1u)) continue;
      in.push_back(k);
      if (!selected) continue;
      log_mass += step.state.logit_rho +
                  0.5 * std::log(step.state.b[k - 2] * step.state.precision);
    }
    const Index q = static_cast<Index>(in.size());
    MatrixXd sub(q, q);
    VectorXd rhs(q);
    for (Index i = 0; i < q; ++i) {
      rhs[i] = h[in[i]];
      for (Index j = 0; j < q; ++j) sub(i, j) = a(in[i], in[j]);
    }
    const MatrixXd inverse = sub.inverse();
    const VectorXd solution = inverse * rhs;
    probability[bits] = std::exp(log_mass + 0.5 * rhs.dot(solution) -
                                 0.5 * std::log(sub.determinant()));
    VectorXd m = VectorXd::Zero(d);
    MatrixXd s = MatrixXd::Zero(d, d);
    for (Index i = 0; i < q; ++i) {
      m[in[i]] = solution[i];
      for (Index j = 0; j < q; ++j) {
        s(in[i], in[j]) = inverse(i, j) + solution[i] * solution[j];
      }
    }
    means.push_back(m);
    squares.push_back(s);
  }
  probability /= probability.sum();
  for (unsigned bits = 0; bits < 8; ++bits) {
    mean += probability[bits] * means[bits];
    square += probability[bits] * squares[bits];
  }

  const int batches = 50, size = check::slow() ? 2000 : 400;
  MatrixXd found(batches, 8 + d + d * d);
  found.setZero();
  double recorded[3] = {0.0, 0.0, 0.0};
  for (int t = -20; t < batches * size; ++t) {
    step.draw_coefficients(chain);
    ++chain.state.sweep;
    if (t < 0) continue;
    VectorXd draw(d);
    draw << chain.state.point.x,
        Eigen::Map<const VectorXd>(chain.state.point.group.data(), d - p);
    unsigned bits = 0;
    for (Index k = 0; k < 3; ++k) {
      if (step.state.in[k] != 0.0) bits |= 1u << k;
      CHECK((step.state.in[k] == 0.0) == (draw[2 + k] == 0.0));
      recorded[k] += step.state.probability[k] / (batches * size);
    }
    auto row = found.row(t / size);
    row[bits] += 1.0;
    row.segment(8, d) += draw.transpose();
    const MatrixXd outer = draw * draw.transpose();
    row.tail(d * d) += Eigen::Map<const VectorXd>(outer.data(), d * d);
  }
  found /= size;
  VectorXd expected(found.cols());
  expected << probability, mean,
      Eigen::Map<const VectorXd>(square.data(), d * d);
  double largest = 0.0;
  for (Index k = 0; k < found.cols(); ++k) {
    const double average = found.col(k).mean();
    const double error =
        std::sqrt((found.col(k).array() - average).square().sum() /
                  (batches * (batches - 1)));
    if (error == 0.0) {  // a set of columns that never came
      CHECK_NEAR(average, expected[k], 1e-3);
      continue;
    }
    largest = std::max(largest, std::abs(average - expected[k]) / error);
  }
  CHECK(largest < 5.0);
  CHECK(probability.maxCoeff() < 0.9);
  std::printf("selection against enumeration: largest |z| %.2f\n", largest);
  for (Index k = 0; k < 3; ++k) {
    double inclusion = 0.0;
    for (unsigned bits = 0; bits < 8; ++bits) {
      if (bits >> k & 1u) inclusion += probability[bits];
    }
    CHECK_NEAR(recorded[k], inclusion, 0.02);
  }
}

// --- the whole sampler -------------------------------------------------------

// Prior draws, with the predictors' part given what is observed by data
// augmentation, weighted by the likelihood of the labels: no step is shared
// with the sampler.
class Reference {
 public:
  Reference(const ModelProblem& problem, const RowModel& model, unsigned seed)
      : problem_(problem),
        model_(model),
        draw_(seed),
        full_(problem.holes.x) {
    mean_ = VectorXd::Zero(2);
    covariance_ = MatrixXd::Identity(2, 2);
    for (int t = 0; t < 50; ++t) predictors();
  }

  // A state and the logarithm of its weight.
  double next(ModelState& out) {
    predictors();
    out.missing.value.resize(problem_.holes.count);
    for (const MissingPattern::Row& row : problem_.holes.rows) {
      Index at = row.first;
      for (const Index k : problem_.holes.patterns[row.pattern]) {
        out.missing.value[at++] = full_(k, row.row);
      }
    }
    out.missing.mean = mean_;
    out.missing.covariance = covariance_;
    const Index groups = problem_.rows.groups();
    const MatrixXd psi = inverse_wishart(8, 4.0 * MatrixXd::Identity(2, 2));
    const double penalty = inverse_gamma(), scale = inverse_gamma();
    const double rho = beta();
    out.base.point = ArrowVector(4, 2, groups);
    out.base.point.x[0] = 0.3 + draw_.normal();
    out.base.point.x[1] = std::sqrt(penalty) * draw_.normal();
    out.selection.in.resize(2);
    for (Index k = 0; k < 2; ++k) {
      // 1 / b ~ Exp(1/2).
      const double v =
          std::sqrt(-2.0 * std::log(draw_.uniform()) * scale) * draw_.normal();
      out.selection.in[k] = draw_.uniform() < rho ? 1.0 : 0.0;
      out.base.point.x[2 + k] = out.selection.in[k] * v;
    }
    out.selection.precision = 1.0 / scale;
    out.selection.logit_rho = std::log(rho / (1.0 - rho));
    out.base.point.group =
        MatrixXd(Eigen::LLT<MatrixXd>(psi).matrixL()) * draw_.matrix(2, groups);
    out.base.precision = {MatrixXd::Constant(1, 1, 1.0 / penalty),
                          psi.inverse()};
    // v ~ IG(3, 3) where there is one.
    if (model_.learns_noise()) out.base.noise = 1.0 / inverse_gamma();
    const VectorXd& residual = problem_.rows.residual;
    double log_weight = 0.0;
    for (Index i = 0, g = 0; i < full_.cols(); ++i) {
      while (problem_.group_begin[g + 1] <= i) ++g;
      const double x = full_(0, i);
      const double e =
          residual.size() > 0 ? std::sqrt(residual[i]) * draw_.normal() : 0.0;
      const double f =
          problem_.rows.offset[i] + e + out.base.point.x[0] +
          out.base.point.x[1] * problem_.known[i] * x +
          out.base.point.x[2] * x +
          out.base.point.x[3] * (0.2 + 0.7 * full_(1, i)) +
          out.base.point.group(0, g) + out.base.point.group(1, g) * x;
      log_weight += problem_.rows.weight[i] *
                    bayeskernel::log_likelihood(
                        model_.family, problem_.rows.y[i], f,
                        1.0 / out.base.noise);
    }
    return log_weight;
  }

 private:
  double gamma_of(int shape) {
    double sum = 0.0;
    for (int k = 0; k < shape; ++k) sum -= std::log(draw_.uniform());
    return sum;
  }
  double inverse_gamma() { return 3.0 / gamma_of(3); }
  double beta() {
    const double in = gamma_of(2);
    return in / (in + gamma_of(2));
  }
  MatrixXd inverse_wishart(int df, const MatrixXd& scale) {
    const MatrixXd root = Eigen::LLT<MatrixXd>(scale.inverse()).matrixL();
    const MatrixXd sample = root * draw_.matrix(scale.rows(), df);
    return (sample * sample.transpose()).inverse();
  }

  // x_mis, mu_x, Sigma_x given the observed predictors: five rounds.
  void predictors() {
    for (int round = 0; round < 5; ++round) {
      for (const MissingPattern::Row& row : problem_.holes.rows) {
        const auto& missing = problem_.holes.patterns[row.pattern];
        if (missing.size() == 2) {
          full_.col(row.row) =
              mean_ + MatrixXd(Eigen::LLT<MatrixXd>(covariance_).matrixL()) *
                          draw_.matrix(2, 1);
          continue;
        }
        const Index a = missing[0], o = 1 - a;
        const double slope = covariance_(a, o) / covariance_(o, o);
        full_(a, row.row) =
            mean_[a] + slope * (full_(o, row.row) - mean_[o]) +
            std::sqrt(covariance_(a, a) - slope * covariance_(a, o)) *
                draw_.normal();
      }
      const double n = static_cast<double>(full_.cols());
      const MatrixXd precision = covariance_.inverse();
      const MatrixXd variance =
          (n * precision +
           MatrixXd::Identity(2, 2) / problem_.holes.mean_var).inverse();
      mean_ = variance * precision * full_.rowwise().sum() +
              MatrixXd(Eigen::LLT<MatrixXd>(variance).matrixL()) *
                  draw_.matrix(2, 1);
      const MatrixXd centred = full_.colwise() - mean_;
      covariance_ = inverse_wishart(
          8 + static_cast<int>(full_.cols()),
          problem_.holes.scale + centred * centred.transpose());
    }
  }

  const ModelProblem& problem_;
  RowModel model_;
  Draw draw_;
  MatrixXd full_;
  VectorXd mean_;
  MatrixXd covariance_;
};

// Coefficients, effects, indicators, variances, holes; then some squares.
static VectorXd statistics(const ModelState& state) {
  std::vector<double> out;
  const auto add = [&](const MatrixXd& values) {
    out.insert(out.end(), values.data(), values.data() + values.size());
  };
  const MatrixXd psi = state.base.precision[1].inverse();
  add(state.base.point.x);
  add(state.base.point.group);
  add(state.selection.in);
  add(state.missing.value);
  add(state.missing.mean);
  const std::size_t linear = out.size();
  out.push_back(state.selection.in.prod());
  out.push_back(1.0 / (1.0 + std::exp(-state.selection.logit_rho)));
  out.push_back(std::log(state.selection.precision));
  out.push_back(std::log(state.base.precision[0](0, 0)));
  out.push_back(std::log(state.base.noise));
  out.push_back(std::log(psi(0, 0)));
  out.push_back(std::log(psi(1, 1)));
  out.push_back(psi(1, 0) / std::sqrt(psi(0, 0) * psi(1, 1)));
  out.push_back(std::log(state.missing.covariance(0, 0)));
  out.push_back(std::log(state.missing.covariance(1, 1)));
  out.push_back(state.missing.covariance(1, 0));
  // Scales and products on a scale where they have a variance: squares of
  // what an inverse Wishart variance spreads have none.
  for (std::size_t k = 0; k < linear; ++k) {
    out.push_back(std::log1p(out[k] * out[k]));
  }
  out.push_back(std::tanh(state.base.point.x[2]) *
                std::tanh(state.missing.value[0]));
  return Eigen::Map<const VectorXd>(out.data(),
                                    static_cast<Index>(out.size()));
}

struct Estimate {
  VectorXd mean, error;
};

// From batches of sums of weight x statistic and sums of weights.
static Estimate ratio_estimate(const MatrixXd& sums, const VectorXd& weights) {
  const double b = static_cast<double>(weights.size());
  Estimate out;
  out.mean = sums.colwise().sum().transpose() / weights.sum();
  // Residuals of the ratio: the delta method.
  const MatrixXd residual = sums - weights * out.mean.transpose();
  out.error = (residual.array().square().colwise().sum() * b / (b - 1.0))
                  .sqrt()
                  .transpose() /
              weights.sum();
  return out;
}

TEST("the sampler agrees with importance sampling on the whole model") {
  const int batches = 50;
  struct Case {
    unsigned seed;
    Family family;
    bool residual;
  };
  const Case cases[] = {
      {21, Family::hinge, false},    {22, Family::hinge, false},
      {23, Family::hinge, true},     {24, Family::probit, false},
      {25, Family::logit, false},    {26, Family::logit, true},
      {27, Family::gaussian, false}, {28, Family::gaussian, true}};
  for (const auto& [seed, family, residual] : cases) {
    if (!check::slow() && seed % 2 == 0) continue;  // under sanitizers
    ModelShape shape;
    shape.n = 6;
    shape.share = 0.4;
    ModelProblem problem = make_model(shape, seed);
    if (family == Family::probit) problem.rows.weight.setOnes();
    if (residual) {
      problem.rows.residual = VectorXd::LinSpaced(shape.n, 0.0, 1.5);
    }
    RowModel model;
    model.family = family;
    model.noise.shape = model.noise.rate = 3.0;
    // A few large weights rule the reference: its error is the larger by far.
    const int prior_draws = check::slow() ? 4000 : 1500;
    ModelState state;
    Reference reference(problem, model, 600 + seed);
    reference.next(state);
    const Index size = statistics(state).size();
    MatrixXd sums = MatrixXd::Zero(batches, size);
    VectorXd weights = VectorXd::Zero(batches);
    for (int b = 0; b < batches; ++b) {
      for (int t = 0; t < prior_draws; ++t) {
        const double weight = std::exp(reference.next(state));
        weights[b] += weight;
        sums.row(b) += weight * statistics(state).transpose();
      }
    }
    const Estimate expected = ratio_estimate(sums, weights);

    SerialExecutor serial;
    ModelChain chain(problem.rows, problem.prior, problem.selection,
                     problem.holes, serial, 1, seed, model);
    for (int t = 0; t < 200; ++t) chain.sweep();
    const int sweeps = check::slow() ? 2000 : 500;
    sums.setZero();
    VectorXd recorded = VectorXd::Zero(2);
    for (int b = 0; b < batches; ++b) {
      for (int t = 0; t < sweeps; ++t) {
        chain.sweep();
        sums.row(b) += statistics(chain.state()).transpose();
        recorded += chain.selection().probability / (batches * sweeps);
      }
    }
    const Estimate found =
        ratio_estimate(sums, VectorXd::Constant(batches, sweeps));
    // A noise that is not there has neither difference nor error.
    const VectorXd z =
        (found.mean - expected.mean).array() /
        (found.error.array().square() + expected.error.array().square() +
         1e-30).sqrt();
    Index worst;
    const double largest = z.cwiseAbs().maxCoeff(&worst);
    CHECK(largest < 4.5);
    // The recorded probabilities average to the inclusion.
    const Index in = 4 + 6;
    CHECK((recorded - found.mean.segment(in, 2)).cwiseAbs().maxCoeff() < 0.03);
    std::printf("whole model %u: largest |z| %.2f (%d), rms %.2f\n", seed,
                largest, static_cast<int>(worst),
                std::sqrt(z.squaredNorm() / static_cast<double>(size)));
  }
}

// --- recording ---------------------------------------------------------------

TEST("draws and averages are on the data's scale, holes in the given order") {
  ModelShape shape;
  shape.n = 20;
  const ModelProblem problem = make_model(shape, 30);
  const Index count = problem.holes.count;
  SerialExecutor serial;
  ModelChain chain = make_chain(problem, serial);
  const bayeskernel::WideBlock wide;
  bayeskernel::MissingScale scale;
  scale.center = (VectorXd(2) << 1.5, -2.0).finished();
  scale.scale = (VectorXd(2) << 2.0, 0.5).finished();
  for (Index k = count; k-- > 0;) scale.order.push_back(k);
  const bayeskernel::ModelRecorder recorder(
      bayeskernel::Recorder(VectorXd::Zero(4), VectorXd::Ones(4), true,
                            problem.prior,
                            {MatrixXd(0, 0), MatrixXd::Identity(2, 2)}, wide, 1,
                            true),
      problem.selection, problem.holes, scale);
  // Coefficients, effects of groups, variances; then the new ones.
  const Index before = 4 + 6 + 1 + 3;
  CHECK(recorder.variables() == before + 2 + 2 + 2 + 3 + count);
  bayeskernel::ModelAverages averages(problem.holes, RowModel(),
                                      problem.rows.rows());
  bayeskernel::ModelAverages first = averages, second = averages;
  VectorXd out(recorder.variables());
  MatrixXd values(10, count), f(10, averages.missing.f.mean.size());
  for (int t = 0; t < 10; ++t) {
    chain.sweep();
    recorder.write(chain, out.data(), 1);
    averages.add(chain);
    (t < 4 ? first : second).add(chain);
    values.row(t) = chain.missing().value;
    Eigen::ArrayXd latent;
    chain.missing_latents(latent);
    f.row(t) = latent;
  }
  CHECK(out[2] == chain.base().point.x[2]);
  CHECK_NEAR(out[before], 1.0 / chain.selection().precision, 1e-14);
  CHECK_NEAR(std::log(out[before + 1] / (1.0 - out[before + 1])),
             chain.selection().logit_rho, 1e-10);
  CHECK(out[before + 2] == chain.selection().probability[0]);
  const Index mean = before + 4;
  CHECK_NEAR(out[mean + 1], -2.0 + 0.5 * chain.missing().mean[1], 1e-14);
  CHECK_NEAR(out[mean + 3], chain.missing().covariance(1, 0), 1e-14);
  CHECK_NEAR(out[mean + 4], 0.25 * chain.missing().covariance(1, 1), 1e-14);
  const Index last = problem.holes.patterns[problem.holes.rows.back().pattern]
                         .back();
  CHECK_NEAR(out[mean + 5],
             scale.center[last] + scale.scale[last] * values(9, count - 1),
             1e-13);
  first.merge(second);
  CHECK(averages.responsibility.mean.size() == 0);
  for (const auto* all : {&averages.missing, &first.missing}) {
    for (Index k = 0; k < count; ++k) {
      const double m = values.col(k).mean();
      CHECK_NEAR(all->value.mean[k], m, 1e-12);
      CHECK_NEAR(all->value.variance()[k],
                 (values.col(k).array() - m).square().sum() / 9.0, 1e-12);
    }
    for (Index i = 0; i < f.cols(); ++i) {
      double probit = 0.0, hinge = 0.0;
      for (int t = 0; t < 10; ++t) {
        probit += 0.05 * std::erfc(-f(t, i) / std::sqrt(2.0));
        hinge += 0.1 * bayeskernel::hinge_probability(f(t, i));
      }
      CHECK_NEAR(all->f.mean[i], f.col(i).mean(), 1e-12);
      CHECK_NEAR(all->probit.mean[i], probit, 1e-12);
      CHECK_NEAR(all->hinge.mean[i], hinge, 1e-12);
    }
  }
}
