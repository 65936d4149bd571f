package advisory

import (
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

const ownFile = `
dated: 2026-12-01
mute: [SERVER-99623, SERVER-94559]
advisories:
  - id: OPS-17
    severity: dataLoss
    affected: [{from: 8.0.0, fixed: 8.0.25}]
    states: [zones]
    commands: [move, drain]
    symptom: our storage loses what was moved
    remedy: ask the storage people
  - {id: SERVER-115962, severity: minor, affected: [{from: 8.0}], symptom: as we know, remedy: none}
`

// A file adds, replaces and mutes.
func TestFile(t *testing.T) {
	f, err := Parse([]byte(ownFile))
	if err != nil {
		t.Fatal(err)
	}
	before, list := Embedded(), Embedded().With(f)
	find := func(id string) int {
		return slices.IndexFunc(list.Advisories, func(a Advisory) bool { return a.hasID(id) })
	}
	if find("SERVER-99623") >= 0 || find("SERVER-95067") >= 0 {
		t.Error("what is muted is still there")
	}
	if got, want := len(list.Advisories), len(before.Advisories)-2+1; got != want {
		t.Errorf("%d advisories, want %d", got, want)
	}
	if list.Dated != "2026-12-01" {
		t.Errorf("dated %s", list.Dated)
	}
	if a := list.Advisories[find("SERVER-115962")]; a.Severity != Minor || a.Affected[0].From != (Version{catalog.ServerVersion{Major: 8}}) {
		t.Errorf("not replaced: %+v", a)
	}
	hits := list.HitsForCommands(in(t, "8.0.24", Zones), []Command{Drain})
	if len(hits) != 1 || hits[0].String() !=
		"OPS-17 of 8.0.24, fixed in 8.0.25: our storage loses what was moved; ask the storage people" {
		t.Errorf("found %v", hits)
	}
}

// What is wrong in a file is named with its line, and the field or the value.
func TestFileErrors(t *testing.T) {
	entry := func(more string) string { return "advisories:\n  - id: A-1\n" + more }
	const rest = "    symptom: s\n    remedy: r\n"
	for text, want := range map[string]string{
		"":                                    "it is empty",
		"mute: [A]\n---\nmute: []":            "it is more than one document",
		"dated: yesterday":                    `dated: "yesterday" is not a date such as 2026-11-24`,
		"muted: [A]":                          "line 1: field muted not found",
		"mute: 7: 8":                          "mapping values are not allowed in this context",
		"mute: {a: b}":                        "line 1: cannot unmarshal !!map into []string",
		entry("    severty: minor\n" + rest):  "line 3: field severty not found",
		entry("    severity: bad\n" + rest):   `line 3: there is no severity "bad"; there are dataLoss, exposure, `,
		entry(rest):                           "line 2: advisory A-1: severity is missing",
		entry("    severity: minor\n" + rest): "line 2: advisory A-1: affected is missing",
		entry("    severity: minor\n    affected: [{from: new}]\n"):       `line 4: "new" is not a version such as 8.0.20`,
		entry("    severity: minor\n    affected: [{from: 8.0.99999}]\n"): `line 4: "8.0.99999" is not a version`,
		entry("    severity: minor\n    affected: [{fixed: 8.0.1, from: 8.0.2}]\n" + rest): "line 2: advisory A-1: affected: " +
			"fixed 8.0.1 is not after from 8.0.2",
		entry("    commands: [move, fly]\n"): `line 3: there is no command "fly"; there are move, `,
		entry("    states: [fine]\n"):        `line 3: there is no state "fine"; there are zones, `,
		entry("    severity: minor\n    affected: [{from: 8.0}]\n"+rest) +
			"  - {id: A-1, severity: minor, affected: [{from: 8.0}], symptom: s, remedy: r}\n": "line 7: advisory A-1: A-1 occurs twice",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q:\n%v, want\n%s", text, err, want)
		}
	}
}

// The worst comes first, and what takes commands of applications last and mildly.
func TestOrder(t *testing.T) {
	hits := Embedded().Matching(in(t, "8.2.1", TimeSeries, Zones, Jumbo, Balancing))
	rank := 0
	for _, h := range hits {
		if h.rank() < rank {
			t.Errorf("%s comes too late", h.ID)
		}
		rank = h.rank()
		if severity := h.Finding().Severity.String(); h.NeedsUnseenCommand && severity != "info" {
			t.Errorf("%s is %s", h.ID, severity)
		}
	}
	if len(hits) < 10 || hits[0].Severity != Exposure {
		t.Errorf("found %v", hits)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(ownFile))
	f.Add([]byte(`{"mute": ["A"], "advisories": [{"id": "A-1", "affected": [{"from": "8.0.0"}]}]}`))
	f.Add([]byte("advisories:\n  - &a {id: x}\n  - *a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "advisory.") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for _, a := range Embedded().With(file).Advisories {
			if err := a.check(); err != nil {
				t.Errorf("%+v: %v", a, err)
			}
		}
	})
}
