package check

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/diagnosis"
)

// Finding is a violation of a rule, or the reason why it is unknown whether the rule is violated.
type Finding struct {
	Rule     string
	Severity diagnosis.Severity
	About    diagnosis.Scope
	// Unknown means that the rule could not be evaluated, for the reason in Sentence.
	Unknown bool
	// Number is the measured value; nil where the rule measures nothing.
	Number *Quantity
	// Excuse is why the finding does not fail: it is allowed, intended, or in the baseline. An empty
	// Excuse means that the finding is not excused.
	Excuse   string
	Sentence string // without a full stop
	Commands []string
	Since    time.Time
}

// Fails reports whether the finding fails a check with the threshold failOn.
func (f Finding) Fails(failOn diagnosis.Severity) bool {
	return !f.Unknown && f.Excuse == "" && f.Severity >= failOn
}

// Status is the result of a rule.
type Status string

// The statuses. A rule has passed if all its findings are excused, or milder than the policy's FailOn.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Unknown Status = "unknown"
)

// Result is the result of a check.
type Result struct {
	*diagnosis.Diagnosis
	Policy *Policy
	// Findings are the findings of each rule, in the order of the rules.
	Findings []Finding
}

// Report is the result of checking one cluster.
type Report struct {
	Address string // without credentials
	// Cluster and Labels are set for the clusters of a fleet.
	Cluster string
	Labels  map[string]string
	// Result is nil when the cluster could not be read. Failure says why.
	Result  *Result
	Failure ReadFailure
}

// ReadFailure says why a cluster could not be read. Code and CodeName are those of the server's error,
// if the server returned one.
type ReadFailure struct {
	Name     string `json:"name"`
	Message  string `json:"message"`
	Code     int32  `json:"code,omitzero"`
	CodeName string `json:"codeName,omitzero" bson:"codeName"`
}

// Name returns the name of the cluster in a fleet, or else its address.
func (r Report) Name() string { return cmp.Or(r.Cluster, r.Address) }

// Status returns the overall status; Unknown when the cluster could not be read.
func (r Report) Status() Status {
	if r.Result == nil {
		return Unknown
	}
	return r.Result.OverallStatus()
}

// WorstStatus returns the status of several clusters: failed if one has failed, else unknown if one is
// unknown.
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

// RuleStatus returns the status of one rule.
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

// CoveredBalances returns the balances of the collections that the policy covers.
func (r *Result) CoveredBalances() []diagnosis.Balance {
	return slices.DeleteFunc(slices.Clone(r.Balances), func(b diagnosis.Balance) bool {
		return !r.Policy.Namespaces.Match(b.Namespace)
	})
}

// FailingFindings returns the findings that fail, the most severe first.
func (r *Result) FailingFindings() []Finding {
	list := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.Fails(r.Policy.FailOn) })
	slices.SortStableFunc(list, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return list
}

// OverallStatus returns the status of all rules together: failed if one rule has failed, else unknown
// if one rule is unknown.
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
