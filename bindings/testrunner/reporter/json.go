package reporter

import (
	"encoding/json"
	"io"

	"shardsh/bindings/testrunner"
)

// report is the JSON report.
type report struct {
	Passed  int        `json:"passed"`
	Failed  int        `json:"failed"`
	Skipped int        `json:"skipped"`
	Todo    int        `json:"todo"`
	Stopped bool       `json:"stopped,omitempty"`
	MS      int64      `json:"ms"`
	Files   []fileJSON `json:"files"`
	// Coverage is the coverage of each script, if it was requested.
	Coverage []coverageJSON `json:"coverage,omitempty"`
}

type fileJSON struct {
	Path    string       `json:"path"`
	MS      int64        `json:"ms"`
	Problem *problemJSON `json:"problem,omitempty"`
	Tests   []testJSON   `json:"tests"`
}

type testJSON struct {
	Suites   []string          `json:"suites"`
	Name     string            `json:"name"`
	Status   testrunner.Status `json:"status"`
	Release  string            `json:"serverVersion,omitempty"`
	Seed     uint64            `json:"seed"`
	Faults   int               `json:"faults,omitempty"`
	MS       int64             `json:"ms"`
	Problems []problemJSON     `json:"problems,omitempty"`
	Output   string            `json:"output,omitempty"`
}

type problemJSON struct {
	During  string `json:"during,omitempty"`
	Message string `json:"message"`
	At      string `json:"at,omitempty"`
}

type coverageJSON struct {
	Path    string `json:"path"`
	Lines   int    `json:"lines"`
	Covered int    `json:"covered"`
	Missed  []int  `json:"missed"`
}

// JSON writes the results of tests as one JSON document.
func JSON(to io.Writer, r testrunner.Report) error {
	out := report{Passed: r.Counts[testrunner.Passed], Failed: r.Counts[testrunner.Failed],
		Skipped: r.Counts[testrunner.Skipped],
		Todo:    r.Counts[testrunner.Todo], Stopped: r.Stopped, MS: r.Took.Milliseconds(), Files: []fileJSON{}}
	for _, f := range r.Files {
		file := fileJSON{Path: f.Path, MS: f.Took.Milliseconds(), Tests: []testJSON{}}
		if f.Problem != nil {
			file.Problem = &problemsJSON([]testrunner.Problem{*f.Problem})[0]
		}
		for _, t := range f.Tests {
			file.Tests = append(file.Tests, testJSON{Suites: append([]string{}, t.Suites...), Name: t.Name, Status: t.Status,
				Release: t.Release, Seed: t.Seed, Faults: t.Faults, MS: t.Took.Milliseconds(), Problems: problemsJSON(t.Problems),
				Output: t.Output})
		}
		out.Files = append(out.Files, file)
	}
	for _, c := range r.Coverage {
		out.Coverage = append(out.Coverage, coverageJSON{Path: c.Path, Lines: len(c.Lines), Covered: c.Covered(),
			Missed: append([]int{}, c.Missed()...)})
	}
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

func problemsJSON(list []testrunner.Problem) (out []problemJSON) {
	for _, p := range list {
		out = append(out, problemJSON{During: p.During, Message: p.Text, At: p.At})
	}
	return out
}
