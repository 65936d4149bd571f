package machine

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

// ServiceState is the state of a service: the exit code of a Nagios plugin.
type ServiceState int

// The states.
const (
	NagiosOK ServiceState = iota
	NagiosWarning
	NagiosCritical
	NagiosUnknown
)

// String returns the state in the words of Nagios.
func (s ServiceState) String() string { return [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[s] }

// NagiosState returns the state of all clusters together. Failing findings outrank unknown ones.
func NagiosState(reports []check.Report) ServiceState {
	state := NagiosOK
	for _, r := range reports {
		of := stateOf(r)
		if rank(of) > rank(state) {
			state = of
		}
	}
	return state
}

func rank(s ServiceState) int { return [...]int{0, 2, 3, 1}[s] }

func stateOf(r check.Report) ServiceState {
	switch r.Status() {
	case check.Passed:
		return NagiosOK
	case check.Unknown:
		return NagiosUnknown
	}
	if r.Result.FailingFindings()[0].Severity == diagnosis.Critical {
		return NagiosCritical
	}
	return NagiosWarning
}

// WriteNagios writes results of checks in the format of a Nagios plugin: a line with the state and
// performance data, then a line for each finding.
func WriteNagios(to io.Writer, reports []check.Report) error {
	var sums nagiosSums
	var lines, failing, unknown []string
	for _, r := range reports {
		prefix := ""
		if len(reports) > 1 {
			prefix = r.Name() + ": "
		}
		if r.Result == nil {
			sums.unknown++
			unknown = append(unknown, prefix+r.Failure.Message)
			lines = append(lines, prefix+r.Failure.Message)
			continue
		}
		sums.add(r.Result)
		for _, f := range r.Result.FailingFindings() {
			failing = append(failing, prefix+f.Severity.String()+": "+f.Sentence)
			lines = append(lines, failing[len(failing)-1])
		}
		for _, f := range r.Result.Findings {
			switch {
			case f.Unknown && f.Excuse == "":
				unknown = append(unknown, prefix+"unknown: "+f.Sentence)
				lines = append(lines, unknown[len(unknown)-1])
			case !f.Fails(r.Result.Policy.FailOn):
				lines = append(lines, prefix+findingLine(f))
			}
		}
	}
	summary := fmt.Sprintf("%d clusters", len(reports))
	if len(reports) == 1 {
		summary = "all is well"
		if r := reports[0].Result; r != nil {
			summary = fmt.Sprintf("collections: %d, all is well", len(r.CoveredBalances()))
		}
	}
	if NagiosState(reports) != NagiosOK {
		if summary = slices.Concat(failing, unknown)[0]; len(lines) > 1 {
			summary = fmt.Sprintf("%d findings, the first: %s", len(lines), summary)
		}
	}
	fmt.Fprintf(to, "SHARDSH %s - %s | %s\n", NagiosState(reports), oneLine(summary), sums)
	for _, text := range lines {
		fmt.Fprintln(to, oneLine(text))
	}
	return nil
}

// nagiosSums holds the performance data. Its labels are fixed and contain no names of a cluster.
type nagiosSums struct{ failing, unknown, collections, unbalanced, jumbo, chunks int64 }

func (s *nagiosSums) add(r *check.Result) {
	s.failing += int64(len(r.FailingFindings()))
	for _, f := range r.Findings {
		if f.Unknown && f.Excuse == "" {
			s.unknown++
		}
	}
	for _, b := range r.CoveredBalances() {
		s.collections++
		if b.Known && !b.Balanced {
			s.unbalanced++
		}
		n := r.Collection(b.Namespace).Count()
		s.jumbo, s.chunks = s.jumbo+n.Jumbo, s.chunks+n.Chunks
	}
}

// String returns the sums as 'label'=value;warn;crit;min.
func (s nagiosSums) String() string {
	return fmt.Sprintf("findings=%d;0;;0 unknown=%d;;;0 collections=%d;;;0 unbalanced=%d;;;0 jumbo=%d;;;0 chunks=%d;;;0",
		s.failing, s.unknown, s.collections, s.unbalanced, s.jumbo, s.chunks)
}

// oneLine replaces characters of a text that would end the line or begin performance data.
func oneLine(text string) string {
	return strings.NewReplacer("|", "¦", "\n", " ", "\r", " ").Replace(Sanitize(text))
}
