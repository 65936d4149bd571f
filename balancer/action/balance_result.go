package action

import (
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/balancer/preflight"
	"shardsh/balancer/runner"
)

// BalanceResult is how a run of Balance ended.
type BalanceResult struct {
	Event   string `json:"event"` // "result"; empty when no run began
	Reached bool   `json:"reached"`
	// Stopped says why the run ended early without a mistake, Error with one.
	Stopped    string   `json:"stopped,omitzero"`
	Error      string   `json:"error,omitzero"`
	Namespaces []string `json:"namespaces"`
	Moves      int      `json:"moves"`
	Bytes      int64    `json:"bytes"`
	Failed     int      `json:"failed"`
	Splits     int      `json:"splits"`
	Rounds     int      `json:"rounds"`
	Left       []Left   `json:"left"`
	MS         int64    `json:"millis"`

	// Preflight is all that a run has which was only to look at what is in its way.
	Preflight *preflight.Report `json:"-"`
	// Plan, Load or Heat is all that a dry run has.
	Plan *plan.Plan `json:"-"`
	Load *Load      `json:"-"`
	Heat *HeatPlan  `json:"-"`
}

// Left is something that is not changed, and why.
type Left struct {
	Code      policy.Code `json:"code"`
	Namespace string      `json:"ns,omitzero"`
	Text      string      `json:"text"`
}

func balanceResult(r runner.Result, err error) BalanceResult {
	result := BalanceResult{
		Event: "result", Reached: r.Reached && err == nil, Stopped: r.Stopped, Namespaces: r.Namespaces,
		Moves: r.Done.Moves, Bytes: r.Done.Bytes, Failed: r.Failed, Splits: r.Splits, Rounds: r.Rounds, Left: []Left{},
		MS: r.Ended.Sub(r.Began).Milliseconds(),
	}
	if result.Namespaces == nil {
		result.Namespaces = []string{}
	}
	for _, left := range r.Left {
		result.Left = append(result.Left, Left(left))
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}
