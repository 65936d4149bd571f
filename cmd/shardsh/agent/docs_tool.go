package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"shardsh/docs"
)

type docsArguments struct {
	Query string `json:"query" jsonschema:"a finding's code, a command, or some words"`
}

// maxSections is the maximum number of sections of the documentation in an answer.
const maxSections = 4

func (s *Server) addDocs() {
	add(s,
		tool{name: "docs", description: "What shardsh's documentation says about a finding's code, a command, an option, " +
			"or how balancing works: the sections that fit best."},
		docsTool)
}

func docsTool(_ context.Context, _ *call, in docsArguments) (Answer, error) {
	if strings.TrimSpace(in.Query) == "" {
		return Answer{}, errors.New("query is empty: give a finding's code, a command or some words")
	}
	var a Answer
	var text strings.Builder
	for _, section := range docs.Search(in.Query, maxSections) {
		fmt.Fprintf(&text, "%s\n\n", section.Text)
		a.Sources = append(a.Sources, section.Location())
	}
	a.Answer = text.String()
	if len(a.Sources) == 0 {
		a.Answer = "The documentation has nothing about it."
		a.NextSteps = []string{"docs with other words, such as those of a finding"}
	}
	return a, nil
}
