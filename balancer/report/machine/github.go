package machine

import (
	"fmt"
	"io"
	"strings"

	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

// annotations are the annotation levels of WriteGitHub by severity.
var annotations = map[diagnosis.Severity]string{
	diagnosis.Info: "notice", diagnosis.Warning: "warning", diagnosis.Critical: "error",
}

// WriteGitHub writes results of checks as workflow commands of GitHub Actions: one annotation for each
// finding. A finding that fails the check is an error, whatever its severity.
func WriteGitHub(to io.Writer, reports []check.Report) error {
	for _, r := range reports {
		if r.Result == nil {
			annotate(to, "error", "shardsh check: "+r.Name(), r.Failure.Message)
			continue
		}
		for _, f := range r.Result.Findings {
			kind := annotations[f.Severity]
			switch {
			case f.Fails(r.Result.Policy.FailOn):
				kind = "error"
			case f.Excuse != "":
				kind = "notice"
			case f.Unknown:
				kind = "warning"
			}
			annotate(to, kind, "shardsh check "+f.Rule+": "+r.Name(), findingMessage(f))
		}
	}
	return nil
}

// findingMessage returns a finding with its commands, or its excuse.
func findingMessage(f check.Finding) string {
	text := f.Sentence
	if f.Excuse != "" {
		text += " (" + f.Excuse + ")"
	}
	return strings.Join(append([]string{text}, f.Commands...), "\n")
}

// Characters that end a command, or a property of a command, are escaped as in GitHub's own toolkit.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotate(to io.Writer, kind, title, text string) {
	fmt.Fprintf(to, "::%s title=%s::%s\n", kind, commandProperty.Replace(Sanitize(title)),
		commandData.Replace(Sanitize(text)))
}
