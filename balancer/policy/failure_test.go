package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shardsh/balancer/mongoerr"
)

const (
	failuresPage = "../../docs/failures.md"
	rulesPage    = "../../docs/rules/02-migration-and-metadata.md"
	examplesPage = "../../docs/rules/02-examples-and-traps.md"
)

// TestFailuresPage holds docs/failures.md to the table: go test -run FailuresPage
// -update writes it.
func TestFailuresPage(t *testing.T) {
	want := pageOfFailures()
	if *update {
		if err := os.WriteFile(failuresPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(failuresPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/failures.md is not what the table says: rewrite it with -update")
	}
}

func pageOfFailures() string {
	var page strings.Builder
	page.WriteString("# Errors of moves, splits and merges\n\n" +
		"What does shardsh do when a command of `apply`, `balance`, `defragment`, `presplit` or `drain` fails? The error code\n" +
		"decides: retry now, retry later, skip the range, or stop. Errors without a code, such as a broken connection, are\n" +
		"retried later; codes that are not listed stop the run, unless the server calls them retriable. This page is written\n" +
		"from the table in `balancer/policy/failuretable.go`.\n")
	for _, section := range []struct {
		title string
		class FailureClass
	}{
		{"Retry now", RetryNow}, {"Retry later", RetryLater}, {"Skip the range", SkipRange}, {"Stop", AskOperator},
	} {
		fmt.Fprintf(&page, "\n## %s\n", section.title)
		var single, shared strings.Builder
		rows := map[string][]FailureInfo{}
		var remedies []string
		for _, row := range Failures() {
			if row.Class == section.class {
				if rows[row.Remedy] == nil {
					remedies = append(remedies, row.Remedy)
				}
				rows[row.Remedy] = append(rows[row.Remedy], row)
			}
		}
		for _, remedy := range remedies {
			if list := rows[remedy]; len(list) == 1 {
				fmt.Fprintf(&single, "| %s | %s | %s |\n", failureName(list[0]), list[0].Meaning, remedy)
				continue
			}
			fmt.Fprintf(&shared, "\n%s\n\n| code | meaning |\n|---|---|\n", remedy)
			names := map[string][]string{}
			for _, row := range rows[remedy] {
				names[row.Meaning] = append(names[row.Meaning], failureName(row))
			}
			for _, row := range rows[remedy] {
				if list := names[row.Meaning]; list != nil {
					fmt.Fprintf(&shared, "| %s | %s |\n", strings.Join(list, ", "), row.Meaning)
					delete(names, row.Meaning)
				}
			}
		}
		page.WriteString(shared.String())
		if single.Len() > 0 {
			page.WriteString("\n| code | meaning | what to do |\n|---|---|---|\n" + single.String())
		}
	}
	return page.String()
}

// failureName is how the page names a code, and the text that tells it from others of the same code.
func failureName(row FailureInfo) string {
	name := strconv.Itoa(int(row.Code))
	if !strings.HasPrefix(row.Code.Name(), "Location") {
		name += " " + row.Code.Name()
	}
	if row.MessagePart != "" {
		name += fmt.Sprintf(" (“%s”)", row.MessagePart)
	}
	return name
}

// section cuts a page of the rules between two lines that begin so.
func section(t *testing.T, page, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+from)
	part, _, ended := strings.Cut(rest, "\n"+to)
	if !ok || !ended {
		t.Fatalf("%s has no section %s", page, from)
	}
	return part
}

// Every code of the rules' table, and of their examples of failed migrations, is in
// the table on purpose.
func TestEveryCodeIsClassified(t *testing.T) {
	var codes []string
	row := regexp.MustCompile(`(?m)^\| ([0-9][0-9, /]*) \|`)
	for _, found := range row.FindAllStringSubmatch(section(t, rulesPage, "### 5.10 ", "## 6."), -1) {
		codes = append(codes, strings.FieldsFunc(found[1], func(r rune) bool { return strings.ContainsRune(", /", r) })...)
	}
	if len(codes) < 45 {
		t.Fatalf("only %d codes were found: %v", len(codes), codes)
	}
	example := regexp.MustCompile(`\b([0-9]{2,}) ([A-Z][A-Za-z]+)\b`)
	for _, found := range example.FindAllStringSubmatch(section(t, examplesPage, "### 9.6 ", "## 10."), -1) {
		if mongoerr.IsCodeName(found[2]) {
			codes = append(codes, found[1])
		}
	}
	for _, code := range codes {
		n, err := strconv.Atoi(code)
		if err != nil {
			t.Fatal(err)
		}
		known := func(f FailureInfo) bool { return f.Code == mongoerr.Code(n) && f.MessagePart == "" }
		if !slices.ContainsFunc(Failures(), known) {
			t.Errorf("nobody says what to do after %s %s", code, mongoerr.Code(n).Name())
		}
	}
}

// Those that the rules call retriable for a defragmentation are so here
// (rules/02-defragmentation-and-merging §2.7).
func TestWhatServersCallRetriable(t *testing.T) {
	for _, code := range mongoerr.Codes() {
		if code.InCategory("RetriableError") && !FailureClassOf(mongoerr.New(code, "x")).IsTransient() {
			t.Errorf("%s is not tried again", code.Name())
		}
	}
}

func TestTableOfFailures(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Failures() {
		name := fmt.Sprint(row.Code, row.MessagePart)
		if seen[name] {
			t.Errorf("%s is in the table twice", name)
		}
		seen[name] = true
		for _, text := range []string{row.Meaning, row.Remedy} {
			if text == "" || strings.ContainsAny(text, "|\n") || !strings.HasSuffix(strings.TrimSuffix(text, ")"), ".") &&
				!strings.Contains(text, "(") {
				t.Errorf("%s says %q", name, text)
			}
		}
		if got := FailureInfoOf(mongoerr.New(row.Code, "so %s it is", row.MessagePart)); got != row {
			t.Errorf("%s finds the row %+v", name, got)
		}
	}
}

type stubborn struct{ error }

func (stubborn) Failure() FailureClass { return AskOperator }

func TestFailureOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want FailureClass
	}{
		{"a broken connection", errors.New("EOF"), RetryLater},
		{"a deadline", fmt.Errorf("moving: %w", context.DeadlineExceeded), RetryLater},
		{"what says so itself", fmt.Errorf("moving: %w", stubborn{errors.New("x")}), AskOperator},
		{"a race", mongoerr.New(mongoerr.StaleConfig, "x"), RetryNow},
		{"a race, in a step", fmt.Errorf("step 1: %w", mongoerr.New(mongoerr.StaleEpoch, "x")), RetryNow},
		{"a busy shard", mongoerr.New(mongoerr.ConflictingOperationInProgress, "x"), RetryLater},
		{"an election", mongoerr.New(mongoerr.PrimarySteppedDown, "x"), RetryLater},
		{"a range that waits to be deleted", mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: ExceededTimeLimit: overlapping range deletion"), RetryLater},
		{"a range that waits to be deleted, as 8.0.10 says it", mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: ExceededTimeLimit: "+OrphansNotCleared), RetryLater},
		{"too big", mongoerr.New(mongoerr.ChunkTooBig, "x"), SkipRange},
		{"written too fast", mongoerr.New(mongoerr.ExceededMemoryLimit, "x"), SkipRange},
		{"a clash of _id", mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: DuplicateKey: E11000 duplicate key error collection: db.c"), SkipRange},
		{"no code", mongoerr.NewNoCode("can't split"), SkipRange},
		{"not allowed", mongoerr.New(mongoerr.Unauthorized, "x"), AskOperator},
		{"a full disk", mongoerr.New(mongoerr.OutOfDiskSpace, "x"), AskOperator},
		{"another collection of the name", mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: InvalidUUID: x"), AskOperator},
		{"never heard of", mongoerr.New(987654, "x"), AskOperator},
		{"never heard of, and retriable", mongoerr.New(462, "x"), RetryLater},
	} {
		if got := FailureClassOf(tt.err); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
