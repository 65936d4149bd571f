package check

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/diagnosis"
)

// Finding is a violation of a rule, or why it is unknown whether there is one.
type Finding struct {
	Rule     string
	Severity diagnosis.Severity
	About    diagnosis.Scope
	// Unknown: it could not be determined, for the reason in Sentence.
	Unknown bool
	// Number is what was measured; nil where nothing is.
	Number *Quantity
	// Excuse is why it does not fail: allowed, wanted, or known before. Empty for
	// what has none.
	Excuse   string
	Sentence string // without a full stop
	Commands []string
	Since    time.Time
}

// Fails reports whether the finding fails a check with such a threshold.
func (f Finding) Fails(failOn diagnosis.Severity) bool {
	return !f.Unknown && f.Excuse == "" && f.Severity >= failOn
}

// Status is how a rule was kept.
type Status string

// The statuses. A rule whose findings are all excused, or milder than what
// fails, is passed.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Unknown Status = "unknown"
)

// Result is how a cluster was found.
type Result struct {
	*diagnosis.Diagnosis
	Policy *Policy
	// Findings are those of each rule in turn.
	Findings []Finding
}

// Report is the result of checking one cluster.
type Report struct {
	Address string // as it may be shown
	// Cluster and Labels are those of a cluster of a fleet; else empty.
	Cluster string
	Labels  map[string]string
	// Result is nil when the cluster could not be asked, for the RuleFailure.
	Result  *Result
	Failure RuleFailure
}

// RuleFailure is why a cluster could not be asked. Code and CodeName are the
// server's, if one refused.
type RuleFailure struct {
	Name     string `json:"name"`
	Message  string `json:"message"`
	Code     int32  `json:"code,omitzero"`
	CodeName string `json:"codeName,omitzero" bson:"codeName"`
}

// Name is what the cluster is called: by its name in a fleet, or else its address.
func (r Report) Name() string { return cmp.Or(r.Cluster, r.Address) }

// Status returns how all rules were kept together; Unknown when the cluster could
// not be asked.
func (r Report) Status() Status {
	if r.Result == nil {
		return Unknown
	}
	return r.Result.OverallStatus()
}

// WorstStatus returns the status of several clusters: failed when one of them is, else
// unknown when one is.
func WorstStatus(reports []Report) Status {
	worst := Passed
	for _, r := range reports {
		switch s := r.Status(); {
		case s == Failed:
			return Failed
		case s == Unknown:
			worst = Unknown
		}
	}
	return worst
}

// Check checks a cluster against the policy.
func (p *Policy) Check(address string, c Cluster) Report {
	r := &Result{Diagnosis: c.Diagnosis, Policy: p}
	for _, choice := range p.Choices {
		if choice.On {
			l := &ruleRun{Cluster: c, policy: p, choice: choice}
			choice.check(l)
			r.Findings = append(r.Findings, l.findings...)
		}
	}
	report := Report{Address: address, Result: r}
	p.Baseline.excuseKnown(report)
	return report
}

// RuleStatus returns how a rule was kept.
func (r *Result) RuleStatus(rule string) Status {
	status := Passed
	for _, f := range r.Findings {
		switch {
		case f.Rule != rule:
		case f.Fails(r.Policy.FailOn):
			return Failed
		case f.Unknown && f.Excuse == "":
			status = Unknown
		}
	}
	return status
}

// Chosen returns the balances of the collections that the policy is about.
func (r *Result) Chosen() []diagnosis.Balance {
	return slices.DeleteFunc(slices.Clone(r.Balances), func(b diagnosis.Balance) bool {
		return !r.Policy.Namespaces.Match(b.Namespace)
	})
}

// Failing returns the findings that fail, the gravest first.
func (r *Result) Failing() []Finding {
	list := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.Fails(r.Policy.FailOn) })
	slices.SortStableFunc(list, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return list
}

// OverallStatus returns the status of the whole: failed when a rule is, else unknown when it is not known
// of one.
func (r *Result) OverallStatus() Status {
	status := Passed
	for _, c := range r.Policy.Choices {
		switch s := r.RuleStatus(c.Name); {
		case s == Failed:
			return Failed
		case s == Unknown:
			status = Unknown
		}
	}
	return status
}
