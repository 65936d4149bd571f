package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"shardsh/cmd/shardsh/buildinfo"
)

// TestManualPage: each subcommand has a section with the options that its help shows,
// or that the sections above have.
func TestManualPage(t *testing.T) {
	code, page, stderr := runProgram(t, "", "man")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	form := regexp.MustCompile(`(?m)^\\fB(?:\\-\w, )?(\\-\\-(?:\w|\\-)+)`)
	shared, commands, ok := strings.Cut(page, "\n.SH \"COMMANDS\"\n.SS \"shardsh ")
	if !ok {
		t.Fatal("no section of commands")
	}
	sections, name := make(map[string]string), regexp.MustCompile(`^[a-z]+( (start|status|cancel)\b)?`)
	for part := range strings.SplitSeq(commands, "\n.SS \"shardsh ") {
		title, _, _ := strings.Cut(part, "\n")
		sections[name.FindString(title)] = part
	}
	for _, c := range append(verbCommands(), shellCommand(new(shellFlags), new(helpFlags))) {
		section, found := sections[c.Name]
		if !found && c.Name != "" {
			t.Errorf("%s has no section", c.Name)
		}
		_, help, _ := runProgram(t, "", strings.Fields(c.Name+" --help-all")...)
		var documented []string
		for _, found := range form.FindAllStringSubmatch(section+shared, -1) {
			documented = append(documented, strings.ReplaceAll(found[1], `\`, ""))
		}
		for _, found := range optionInHelp.FindAllStringSubmatch(help, -1) {
			if !slices.Contains(documented, "--"+found[1]) {
				t.Errorf("%s: --%s is not on the page", c.Name, found[1])
			}
		}
	}
	for _, part := range []string{".SH \"NAME\"\nshardsh \\- a shell", "\n.SH \"ENVIRONMENT\"\n.TP\n\\fBSHARDSH_PASSWORD\\fR\n",
		"\n.nf\n  shardsh why mongodb://host:27017\n"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	for variable := range variablesRead(t) {
		if !strings.Contains(page, "\\fB"+variable+"\\fR") {
			t.Errorf("%s is not on the page", variable)
		}
	}
	if code, stdout, stderr := runProgram(t, "", "man", "mongodb://u:p@h"); code != exitUsage || stdout != "" ||
		!strings.Contains(stderr, `takes no arguments: "mongodb://<credentials>@h". For one verb: shardsh help VERB`) {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	t.Run("lint", func(t *testing.T) {
		program, err := exec.LookPath("mandoc")
		if err != nil {
			t.Skip("NO LINT of the manual page: mandoc is not here")
		}
		cmd := exec.CommandContext(t.Context(), program, "-T", "lint", "-W", "warning")
		cmd.Stdin = strings.NewReader(page)
		out, _ := cmd.CombinedOutput() // ends with 2 for warnings, which are looked at
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "missing date") { // builds outside of a checkout have none
				t.Error(line)
			}
		}
	})
}

// variablesRead returns those of our own that the program knows.
func variablesRead(t *testing.T) map[string]bool {
	t.Helper()
	name, found := regexp.MustCompile(`"(SHARDSH_[A-Z]+)"`), make(map[string]bool)
	for _, pattern := range []string{"*.go", "*/*.go", "../../bindings/*.go", "../../bindings/*/*.go", "../../repl/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				if !strings.HasSuffix(file, "_test.go") {
					found[m[1]] = true
				}
			}
		}
	}
	if len(found) < 4 {
		t.Fatalf("only %v", found)
	}
	return found
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := runProgram(t, "", "version")
	if want := "shardsh " + buildinfo.Version(); code != exitOK || stderr != "" || !strings.HasPrefix(stdout, want) ||
		!strings.HasSuffix(stdout, runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH+"\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	code, stdout, stderr = runProgram(t, "", "version", "--json")
	var a struct {
		Version, Go, Platform, Mongosh string
		Driver                         struct{ Name, Version string }
		Mock                           struct {
			Default  string
			Releases []string
			Commands int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &a); code != exitOK || err != nil || stderr != "" {
		t.Fatalf("exit code %d, %v, %q", code, err, stderr)
	}
	if a.Version != buildinfo.Version() || a.Go != runtime.Version() || a.Driver.Name != buildinfo.DriverPath ||
		!slices.Contains(a.Mock.Releases, a.Mock.Default) || a.Mock.Default != "8.0" || a.Mock.Commands < 100 ||
		a.Mongosh != buildinfo.MongoshVersion {
		t.Errorf("%+v", a)
	}
	code, stdout, _ = runProgram(t, "", "--buildInfo")
	if code != exitOK || !strings.Contains(stdout, `"mongosh": "`+buildinfo.MongoshVersion+`"`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	code, stdout, _ = runProgram(t, "", "version", "--sbom")
	if code != exitOK || !strings.Contains(stdout, `"bomFormat": "CycloneDX"`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
	if code, _, stderr := runProgram(t, "", "version", "--of", "x"); code != exitUsage || !strings.Contains(stderr, "--sbom") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if code, _, stderr := runProgram(t, "", "version", "h:1"); code != exitUsage || !strings.Contains(stderr, "db.version()") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
