// Particles over a stream of rows: sequential Bayesian kernel regression after
// Vermaak, Godsill and Doucet (2004), with weights that are right. A particle
// is a set of centres U with two variances (and latent responses of classes).
// At row t, whose input x_t may become a centre:
//
//   inclusion   U' -> U', U' + t or U' - c + t, c near t, by their odds; the
//               weight is their sum over p(Y_{t-1}, U'), by extended importance
//               sampling with the backward kernel that takes t away, and may
//               put a point near it there: a set of either sort by its
//               probability given the rows before. Sets that need t to explain
//               these come from those that have another centre in its place;
//   corrected   the moves of that paper, birth, death or nothing, and that a
//               centre gives its place to t. The backward kernel is made of
//               the same moves, accepted as Metropolis and Hastings do given
//               the rows before: unlike the moves alone, it seldom goes to
//               sets that no particle has, from where no weight could come;
//   Gibbs       coefficients given U, then the variances given them;
//   resampling  where the effective size falls below a power of N;
//   moves       birth, death and swap given all rows so far (inclusion only).
//
// Random numbers are keyed by (seed, particle, purpose, row, stage).
//
// Their posterior of centres is eq. 3, draws of coefficients and variances 4
// and 5, the weight 8, all algorithm 1.
#pragma once

#include <array>

#include "eigen.hpp"
#include "expansion/factored_gaussian.hpp"
#include "parallel/executor.hpp"
#include "parallel/scratch_pool.hpp"
#include "rng/distributions.hpp"
#include "rng/stream.hpp"
#include "sequential/grid.hpp"
#include "sequential/particle.hpp"
#include "sequential/resample.hpp"
#include "sequential/subset_prior.hpp"

namespace bayeskernel {
struct FilterSettings {
  Index particles = 250;
  bool corrected = false;  // moves of the paper in place of inclusion
  bool printed = false;    // these with the weight as it is printed
  bool classes = false;    // probit; responses are -1 and +1
  Index sweeps = 3;        // moves a particle and row
  double ess = 0.5;        // resampling below this power of particles
  Resampling resampling = Resampling::systematic;
  // Below this power of particles, had the row come whole, it comes by parts
  // that leave a power of `temper_to`.
  bool temper = true;
  double temper_below = 0.1, temper_to = 0.5;
  bool blind = false;  // the likelihood is left out: for tests
  StepVariancePrior noise{1.0, 0.01}, coefficient_variance{1.0, 1.0};
  // From where variances are drawn before the first row.
  StepVariancePrior first_noise{1.0, 0.01},
      first_coefficient_variance{1.0, 1.0};
  std::uint64_t seed = 0;
};

// What is recorded of a row.
struct FilterStep {
  double log_evidence = 0.0;  // of this row given those before
  double ess = 0.0;           // before resampling
  double stages = 1.0;        // in which the row was brought in
  double resampled = 0.0;
  double kernels = 0.0;  // means over particles
  double noise = 0.0;
  double seconds = 0.0;
};

class ParticleFilter {
 public:
  ParticleFilter(Grid& grid, const SubsetPrior& prior,
                 const FilterSettings& settings, Executor& executor);

  const std::vector<Particle>& particles() const { return particles_; }
  const std::vector<double>& log_weights() const { return log_weight_; }

  void restore(std::vector<Particle> particles, std::vector<double> log_weight);

  // The next row. Where a NumericError comes out, the filter is of no use.
  FilterStep step(const double* x, double y);

  // Equal weights and `rounds` further rounds of moves and variances: draws
  // from the posterior given all rows. The stream cannot go on from here.
  void finish(Index rounds);

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  // Stages of a row: those of admission and tempering come first.
  static constexpr std::uint64_t kAfter = 1u << 20, kFinish = 1u << 21;

  // A way in which the input of the row on offer becomes a centre: in place of
  // that at position `gone`, or of none.
  struct Entry {
    NextRow row;
    double log = kNone;  // prior, past rows and the way back, over those of U'
    Index gone = -1;
  };

  // The row on offer with and without its own input as a centre.
  struct Options {
    NextRow without;
    double log_without = 0.0;
    double log_with = kNone;  // of all entries
    std::array<Entry, Grid::kNeighbors + 1> with;
    Index entries = 0;
  };

  // Calls body(i, stream, work) for every particle, blocks side by side.
  template <class Body>
  void for_each(Purpose purpose, std::uint64_t stage, Body&& body) {
    constexpr Index kBlock = 8;
    const Index count = settings_.particles;
    const std::uint64_t row = static_cast<std::uint64_t>(grid_.rows());
    executor_.run((count + kBlock - 1) / kBlock, [&](Index block) {
      auto loan = pool_.borrow();
      if (!(*loan).work) {
        (*loan).work = std::make_unique<ParticleWork>(prior_.kmax());
      }
      const Index end = std::min(count, (block + 1) * kBlock);
      for (Index i = block * kBlock; i < end; ++i) {
        Stream stream(settings_.seed, static_cast<std::uint64_t>(i), purpose,
                      row, stage);
        body(i, stream, *(*loan).work);
      }
    });
  }

  void load(const Particle& particle, ParticleWork& work, double power = 0.0,
            double y = 0.0) const {
    work.load(particle, grid_, power, y, settings_.blind);
  }

  // log of the mean over N(f; mean, variance) of the row's likelihood to the
  // power `power`.
  double log_predictive(const NextRow& f, double noise, double y,
                        double power) const;

  // ---- Inclusion --------------------------------------------------------

  // From the prior, on a grid that is there before the rows.
  void draw_set(Particle& particle, Stream& stream, ParticleWork& work) const;

  // What the new point offers a particle; its regression is loaded.
  Options weigh(const Particle& particle, bool fresh, ParticleWork& work) const;

  // So many of the points next to the new one may give their place to it: all
  // of a small grid. Of a large one a few are almost as good and faster.
  Index replaceable() const {
    constexpr Index kFew = 3;
    const Index old = grid_.points() - 1;
    return old <= Grid::kNeighbors ? old : kFew;
  }

  // Without the centre at position `gone`, if any: the new point in its place.
  // The sets from which that may come count by the logs of how often they go
  // there.
  Entry entry(const Particle& particle, Index gone, const NextRow& without,
              ParticleWork& work, double log_birth = 0.0,
              double log_swap = 0.0) const;

  // Which entry, with the row at this power; `u` is uniform.
  const Entry& choose(const Options& o, double u, double noise, double y,
                      double power) const;

  static double log_sum(double a, double b);

  // log of both options with the row at this power, and of the second alone.
  std::pair<double, double> log_options(const Options& o, double noise,
                                        double y, double power) const;

  void include(bool fresh, double y);

  static double number(double x) { return std::isnan(x) ? kNone : x; }

  // The offered row joins the particle's regression, and the variances are
  // drawn again.
  void take_row(Particle& particle, const NextRow& f, double y, Stream& stream,
                ParticleWork& work);

  // N(mean, sd^2) of the sign of y.
  static double on_side(double y, double mean, double sd, Stream& stream) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return truncated_normal(stream, mean, sd, y > 0.0 ? 0.0 : -kInfinity,
                            y > 0.0 ? kInfinity : 0.0);
  }

  // Coefficients given the set, latent responses and variances given them.
  void refresh(Particle& particle, Stream& stream, ParticleWork& work,
               double rows);

  void redraw_latent(Particle& particle, Stream& stream, ParticleWork& work);

  // ---- The paper's moves, properly weighted unless `printed` -------------

  void propose_moves(Index before, double y);

  // Each makes a move and returns the log of its weight without the row.
  double propose_printed(Particle& particle, Stream& stream,
                         ParticleWork& work) const;
  double propose_move(Particle& particle, bool fresh, Stream& stream,
                      ParticleWork& work) const;

  // The probability that a centre next to the new point, if there is any,
  // gives its place to it.
  double exchange(Index k) const {
    return 0.2 * prior_.stay(k, grid_.points());
  }

  // Positions of centres that may.
  std::vector<Index> near_centres(const Particle& particle) const;

  // The new point in place of the centre at position `gone`, or of none.
  double bring_in(Particle& particle, Index gone, ParticleWork& work) const;

  // How often the way back stays where it is: moves among the first `before`
  // points that it proposes and refuses. Of births one is looked at, drawn for
  // all.
  double stayed(const Particle& particle, Index before, Stream& stream,
                ParticleWork& work) const;

  // ---- Tempering ----------------------------------------------------------

  // Brings the offered point in as a candidate, given the rows before: sets
  // that have it count by a factor that rises to 1 in steps, each of which
  // leaves half of the effective size, with resampling and moves in between.
  // Where a centre there explains those rows far better than all others do, at
  // once it would leave one particle.
  void admit(FilterStep& out);

  // The log of the factor with which a tenth of the weight is on sets that have
  // the offered point; with fewer of them the next step would know nothing of
  // such sets.
  double faintest() const;

  // Brings the offered row in by powers of its likelihood in the same way.
  void temper(double y, FilterStep& out);

  // The weights of one stage, its power of the evidence, and offspring.
  void collect(const std::vector<double>& joint, std::uint64_t stage,
               FilterStep& out);

  static constexpr std::uint64_t kTempered = 1u << 19, kAdmitted = 1u << 18;

  // The largest number between whose weights leave an effective size of
  // `least`; `low` where none does.
  template <class Weights>
  static double largest(double low, double high, double least,
                        Weights&& weights) {
    if (effective_size(weights(high)) >= least) return high;
    for (int k = 0; k < 40; ++k) {
      const double middle = 0.5 * (low + high);
      (effective_size(weights(middle)) >= least ? low : high) = middle;
    }
    return low;
  }

  // ---- Weights --------------------------------------------------------------

  std::vector<double> joined() const;

  void advance(const std::vector<double>& joint, FilterStep& out);

  // What include() and propose_moves() have made, with these weights.
  void take(const std::vector<double>& joint, FilterStep& out);

  void divide(std::uint64_t stage);

  void describe(FilterStep& out) const;

  // ---- Reversible jumps given all rows so far -------------------------------

  // `admission`: the log of the factor of sets that have the newest point.
  void move(Particle& particle, Stream& stream, ParticleWork& work,
            double power, double y, double admission = 0.0);

  double admitted(Index c, double admission) const {
    return c == grid_.points() - 1 ? admission : 0.0;
  }

  void try_birth(Particle& particle, Stream& stream, ParticleWork& work,
                 double admission);

  void try_death(Particle& particle, Stream& stream, ParticleWork& work,
                 double admission);

  void try_swap(Particle& particle, Stream& stream, ParticleWork& work,
                double admission);

  // A neighbor of a centre that is no centre, and the log of how much less
  // often it is proposed than the way back; -1 where there is none.
  Index near_point(const Particle& particle, Index at, Stream& stream,
                   double& ratio) const;

  struct Loan {
    std::unique_ptr<ParticleWork> work;
  };

  Grid& grid_;
  SubsetPrior prior_;
  FilterSettings settings_;
  Executor& executor_;
  ScratchPool<Loan> pool_;
  std::vector<Particle> particles_, next_;
  std::vector<double> log_weight_, gain_;
  std::vector<Options> options_;
  double offered_response_ = 0.0;
};
}  // namespace bayeskernel
