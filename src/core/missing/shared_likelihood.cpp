#include "missing/shared_likelihood.hpp"

namespace bayeskernel {
namespace {
// A small positive definite matrix becomes its inverse, by elimination. Returns
// the log of its determinant; NaN where it is not positive definite.
double invert(Eigen::Ref<MatrixXd> a) {
  double log_det = 0.0;
  for (Index k = 0; k < a.rows(); ++k) {
    const double pivot = a(k, k);
    log_det += std::log(pivot);
    const VectorXd row = a.row(k).transpose() / pivot;
    for (Index i = 0; i < a.rows(); ++i) {
      if (i == k) continue;
      const double by = a(i, k);
      a.row(i) -= by * row.transpose();
      a(i, k) = -by / pivot;
    }
    a.row(k) = row.transpose();
    a(k, k) = 1.0 / pivot;
  }
  return log_det;
}
}  // namespace

SharedLikelihood::SharedLikelihood(const Data& data) : data_(data) {
  const Index w = width();
  for (const Use& use : data_.uses) data_.x(use.row, use.column) = use.value;
  open_precision_.resize(w, w * data_.groups);
  for (Index g = 0; g < data_.groups; ++g) {
    auto own = open_precision_.middleCols(g * w, w);
    own = Eigen::Map<const MatrixXd>(data_.open.col(g).data(), w, w);
    open_log_det_ += invert(own);
  }
}

MatrixXd SharedLikelihood::slopes(const VectorRef& theta) const {
  MatrixXd out = MatrixXd::Zero(width(), data_.x.rows());
  for (const Use& use : data_.uses) {
    out(use.place, use.row) += use.slope * theta[use.column];
  }
  return out;
}

auto SharedLikelihood::state(const VectorRef& theta, const MatrixRef& precision,
                             double noise) const -> State {
  const Index n = data_.x.rows(), r = effects(), w = width(), q = r + w;
  State out;
  out.slope = slopes(theta);
  out.spread = MatrixXd::Zero(w, n);
  out.load = MatrixXd::Zero(q, n);
  out.load.topRows(r) = data_.z.transpose();
  for (const Pattern& one : data_.patterns) {
    for (const int i : one.rows) {
      out.spread.col(i) = one.left * out.slope.col(i);
      out.load.col(i).tail(w) = one.move.transpose() * out.slope.col(i);
    }
  }
  out.noise = noise / data_.weight.array();
  out.total =
      out.noise +
      (out.slope.array() * out.spread.array()).colwise().sum().transpose();
  out.gap = (data_.y - data_.x * theta).array();
  out.variance = MatrixXd::Zero(q, q * data_.groups);
  MatrixXd gradient = MatrixXd::Zero(q, data_.groups);
  for (Index g = 0; g < data_.groups; ++g) {
    out.variance.block(0, g * q, r, r) = precision;
    out.variance.block(r, g * q + r, w, w) =
        open_precision_.middleCols(g * w, w);
  }
  for (Index i = 0; i < n; ++i) {
    const Index g = data_.group[i];
    const VectorXd scaled = out.load.col(i) / out.total[i];
    out.variance.middleCols(g * q, q) += scaled * out.load.col(i).transpose();
    gradient.col(g) += scaled * out.gap[i];
  }
  MatrixXd root = precision;
  out.value =
      -0.5 * ((2.0 * M_PI * out.total).log() + out.gap.square() / out.total)
                 .sum() -
      0.5 * open_log_det_ + 0.5 * data_.groups * invert(root);
  out.mean.resize(q, data_.groups);
  for (Index g = 0; g < data_.groups; ++g) {
    auto own = out.variance.middleCols(g * q, q);
    out.value -= 0.5 * invert(own);
    out.mean.col(g) = own * gradient.col(g);
    out.value += 0.5 * out.mean.col(g).dot(gradient.col(g));
  }
  for (Index i = 0; i < n; ++i) {
    out.gap[i] -= out.load.col(i).dot(out.mean.col(data_.group[i]));
  }
  return out;
}

auto SharedLikelihood::look(const VectorRef& theta, const MatrixRef& precision,
                            double noise, bool with_information) const -> Look {
  const Index n = data_.x.rows(), r = effects(), w = width(), q = r + w;
  const State own = state(theta, precision, noise);
  Look out;
  out.value = own.value;
  out.effects = own.mean.topRows(r);
  MatrixXd both = MatrixXd::Zero(w, n), open = MatrixXd::Zero(w, n);
  for (Index i = 0; i < n; ++i) {
    const Index g = data_.group[i];
    const VectorXd turned = own.variance.middleCols(g * q, q) * own.load.col(i);
    const double share = own.noise[i] / own.total[i];
    const double square = own.gap[i] * own.gap[i] + own.load.col(i).dot(turned);
    both.col(i) =
        own.spread.col(i) * ((square / own.total[i] - 1.0) / own.total[i]);
    // E of c times the noise of the row, over its variance.
    open.col(i) =
        (own.gap[i] * own.mean.col(g).tail(w) - turned.tail(w)) / own.total[i];
    out.noise += 0.5 * share * (share * square / own.noise[i] - 1.0);
  }
  for (const Pattern& one : data_.patterns) {
    for (const int i : one.rows) both.col(i) += one.move * open.col(i);
  }
  out.theta = column_score(data_.x, (own.gap / own.total).matrix(), both);
  MatrixXd second = out.effects * out.effects.transpose();
  for (Index g = 0; g < data_.groups; ++g) {
    second += own.variance.block(0, g * q, r, r);
  }
  out.scale = 0.5 * ((precision.array() * second.array()).sum() -
                     static_cast<double>(data_.groups * r));
  if (with_information) out.information = information(own);
  return out;
}

VectorXd SharedLikelihood::column_score(const MatrixXd& x,
                                        const VectorXd& noise,
                                        const MatrixXd& both) const {
  VectorXd out = x.transpose() * noise;
  for (const Use& use : data_.uses) {
    out[use.column] += use.slope * both(use.place, use.row);
  }
  return out;
}

MatrixXd SharedLikelihood::information(const State& own) const {
  const Index n = data_.x.rows(), p = data_.x.cols(), q = own.load.rows();
  MatrixXd scaled = own.total.inverse().matrix().asDiagonal() * data_.x;
  MatrixXd out = data_.x.transpose() * scaled;
  // By group the effects' loadings times the rows of x.
  MatrixXd moved = MatrixXd::Zero(p, q * data_.groups);
  for (Index i = 0; i < n; ++i) {
    moved.middleCols(data_.group[i] * q, q) +=
        scaled.row(i).transpose() * own.load.col(i).transpose();
  }
  MatrixXd turned(p, q * data_.groups);
  for (Index g = 0; g < data_.groups; ++g) {
    turned.middleCols(g * q, q) =
        moved.middleCols(g * q, q) * own.variance.middleCols(g * q, q);
  }
  out -= turned * moved.transpose();
  return out;
}

auto SharedLikelihood::completions(const VectorRef& theta,
                                   const MatrixRef& precision,
                                   double noise) const -> Completions {
  const Index w = width(), q = effects() + w;
  const State own = state(theta, precision, noise);
  Completions out{data_.mean, MatrixXd::Zero(data_.mean.rows(), w)};
  VectorXd load(q);
  for (const Pattern& one : data_.patterns) {
    for (const int i : one.rows) {
      const Index g = data_.group[i];
      const VectorXd by = own.spread.col(i) / own.total[i];
      const VectorXd known = one.move * own.mean.col(g).tail(w);
      out.mean.row(i) += (by * own.gap[i] + known).transpose();
      for (Index j = 0; j < w; ++j) {
        if (!(one.left(j, j) > 0.0)) continue;
        load = -by[j] * own.load.col(i);
        load.tail(w) += one.move.row(j).transpose();
        const VectorXd turned = own.variance.middleCols(g * q, q) * load;
        out.variance(i, j) =
            one.left(j, j) - by[j] * own.spread(j, i) + load.dot(turned);
      }
    }
  }
  return out;
}

auto SharedLikelihood::apart(const VectorRef& theta,
                             const MatrixRef& precision) const -> Apart {
  const Index n = data_.x.rows(), r = effects(), w = width();
  const MatrixXd slope = slopes(theta);
  MatrixXd spread = MatrixXd::Zero(w, n), extra = MatrixXd::Zero(w, n);
  for (const Pattern& one : data_.patterns) {
    for (const int i : one.rows) {
      const VectorXd by = one.move.transpose() * slope.col(i);
      VectorXd turned = VectorXd::Zero(w);
      for (Index j = 0; j < w; ++j) {
        for (Index l = 0; l < w; ++l) {
          turned[j] += by[l] * data_.apart(i, j * w + l);
        }
      }
      spread.col(i) = one.bare * slope.col(i) + one.move * turned;
      extra.col(i) = one.move * data_.toward.row(i).transpose();
    }
  }
  MatrixXd x = data_.x;
  for (const Use& use : data_.uses) {
    x(use.row, use.column) = use.value + use.slope * extra(use.place, use.row);
  }
  const ArrayXd noise = data_.weight.array().inverse();
  const ArrayXd total =
      noise + (slope.array() * spread.array()).colwise().sum().transpose();
  ArrayXd gap = (data_.y - x * theta).array();
  const auto variances = [&](const ArrayXd& of) {
    MatrixXd a = precision.replicate(1, data_.groups);
    for (Index i = 0; i < n; ++i) {
      const VectorXd z = data_.z.row(i).transpose();
      a.middleCols(data_.group[i] * r, r) += z * z.transpose() / of[i];
    }
    for (Index g = 0; g < data_.groups; ++g) invert(a.middleCols(g * r, r));
    return a;
  };
  MatrixXd gradient = MatrixXd::Zero(r, data_.groups);
  for (Index i = 0; i < n; ++i) {
    gradient.col(data_.group[i]) +=
        data_.z.row(i).transpose() * (gap[i] / total[i]);
  }
  Apart out;
  out.effects.resize(r, data_.groups);
  MatrixXd second = MatrixXd::Zero(r, r);
  const MatrixXd variance = variances(total), sharp = variances(noise);
  for (Index g = 0; g < data_.groups; ++g) {
    out.effects.col(g) = variance.middleCols(g * r, r) * gradient.col(g);
    second += sharp.middleCols(g * r, r);
  }
  second += out.effects * out.effects.transpose();
  MatrixXd both(w, n);
  out.completed = data_.mean;
  for (Index i = 0; i < n; ++i) {
    gap[i] -= data_.z.row(i).dot(out.effects.col(data_.group[i]));
    const double square = gap[i] * gap[i] / total[i];
    both.col(i) = spread.col(i) * ((square - 1.0) / total[i]);
    out.completed.row(i) +=
        (extra.col(i) + spread.col(i) * (gap[i] / total[i])).transpose();
  }
  out.theta = column_score(x, (gap / total).matrix(), both);
  out.scale = 0.5 * ((precision.array() * second.array()).sum() -
                     static_cast<double>(data_.groups * r));
  return out;
}
}  // namespace bayeskernel
