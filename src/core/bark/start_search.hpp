// Where a chain begins: the best of some short runs from different places.
// Many wide kernels and fewer narrow ones are modes between which a chain goes
// once in 10^5 sweeps, but one of some short runs finds the better one: many
// begin, and in stages of longer and longer runs the better half goes on.
#pragma once

#include <numeric>

#include "eigen.hpp"

namespace bayeskernel {
// `Place`: what a run goes on from.
template <class Place>
class StartSearch {
 public:
  // In at most `sweeps` sweeps of all runs, each stage with as many; where
  // these are few it is one run, and without any it is over.
  explicit StartSearch(Index sweeps) {
    Index stages = kMostStages;
    while (stages > 0 && sweeps < stages * (kShortest << stages)) --stages;
    Index runs = Index{1} << stages;
    places_.resize(static_cast<std::size_t>(runs));
    scores_.resize(places_.size());
    order_.resize(places_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (stages == 0 && sweeps > 0) lengths_.push_back(sweeps);
    for (; runs > 1; runs /= 2) lengths_.push_back(sweeps / (stages * runs));
  }

  bool on() const { return stage_ < lengths_.size(); }
  bool first_stage() const { return on() && stage_ == 0; }
  bool run_begins() const { return on() && step_ == 0; }
  std::size_t runs() const { return order_.size(); }  // of this stage
  // Of the sweeps of the run, from 0 to 1.
  double share_done() const {
    return static_cast<double>(step_) / static_cast<double>(lengths_[stage_]);
  }
  void end() { stage_ = lengths_.size(); }

  // Where the run was at the end of the last stage; after the last one, where
  // the best of all was.
  const Place& place() const { return places_[order_[run_]]; }

  // After each sweep: whether the run ends with it. The mean score of its
  // second half is what counts.
  bool ends(double score) {
    double& sum = scores_[order_[run_]];
    if (step_ == 0) sum = 0.0;
    if (2 * step_ >= lengths_[stage_]) sum += score;
    return ++step_ == lengths_[stage_];
  }
  void keep(Place place) {
    places_[order_[run_]] = std::move(place);
    step_ = 0;
    if (++run_ < order_.size()) return;
    run_ = 0;
    ++stage_;
    std::stable_sort(
        order_.begin(), order_.end(),
        [&](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
    order_.resize(std::max<std::size_t>(order_.size() / 2, 1));
  }

 private:
  static constexpr Index kMostStages = 6;
  static constexpr Index kShortest = 200;  // sweeps

  std::vector<Index> lengths_;  // of a run, by stage
  std::vector<Place> places_;
  std::vector<double> scores_;      // sums
  std::vector<std::size_t> order_;  // the runs that are left
  std::size_t stage_ = 0, run_ = 0;
  Index step_ = 0;
};
}  // namespace bayeskernel
