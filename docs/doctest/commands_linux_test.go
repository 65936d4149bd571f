package doctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// command is one of a page, what is typed while it runs, and what it prints there.
type command struct {
	text, typed, shown string
}

var (
	exitCode = regexp.MustCompile(`(?:#|//).*\bexit code (\d+)`)
	asks     = regexp.MustCompile(`#.*\basks\b`)
	endless  = regexp.MustCompile(`^shardsh (?:serve|watch)\b|^shardsh test.* --watch\b`)
	ends     = regexp.MustCompile(` (?:--once|--until-eof|--help)\b|&$`)
	prompt   = regexp.MustCompile(`(?m)\A((?:\[[^\]]+\] )+\w+> |\.\.\. )(.*)$`)
	anyHost  = regexp.MustCompile(`\b(?:host|h\d|a|b|localhost|127\.0\.0\.1):270\d\d\b`)
)

// commandsOf returns the commands of a text: a line each, or as many as bash needs for
// one. Comments and empty lines are none.
func commandsOf(text string) (list []command) {
	var open string
	for line := range strings.Lines(text) {
		open += line
		if trimmed := strings.TrimSpace(open); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			open = ""
			continue
		}
		if !strings.HasSuffix(line, "\\\n") && exec.Command("bash", "-n", "-c", open).Run() == nil {
			list, open = append(list, command{text: strings.TrimRight(open, "\n")}), ""
		}
	}
	if open != "" { // bash will say what is wrong with it
		list = append(list, command{text: open})
	}
	return list
}

// sessionOf returns the commands of a text with "$ " before each, and what they show,
// after others, of which the last one may go on.
func sessionOf(list []command, text string) []command {
	for line := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, command{text: strings.TrimRight(after, "\n")})
			continue
		}
		c := &list[len(list)-1]
		if m := prompt.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			c.typed += m[2] + "\n"
			c.shown += m[1] // what is typed is not shown where it does not come from a terminal
			continue
		}
		c.shown += line
	}
	for i, c := range list {
		if c.typed != "" && !strings.Contains(c.text, " --interactive") {
			list[i].text += " --interactive 2>&1" // in the order in which a terminal has them
			if !strings.Contains(c.text, ":270") && !strings.Contains(c.text, "--mock-time") {
				list[i].text += " --mock-time=virtual"
			}
		}
	}
	return list
}

// stepsOf returns the commands in the values of "run" and "script" of a YAML document.
func stepsOf(n *yaml.Node) (list []command) {
	for i, child := range n.Content {
		key := ""
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			key = n.Content[i-1].Value
		}
		switch {
		case (key == "run" || key == "script") && child.Kind == yaml.ScalarNode:
			list = append(list, commandsOf(child.Value+"\n")...)
		case key == "script" && child.Kind == yaml.SequenceNode:
			for _, item := range child.Content {
				list = append(list, commandsOf(item.Value+"\n")...)
			}
		default:
			list = append(list, stepsOf(child)...)
		}
	}
	return list
}

// prelude lets what does not end by itself say something, and ends it.
const prelude = `endless() {
  local said=$(mktemp -p "$DIR") code=0
  "$@" >"$said" & local pid=$!
  for _ in $(seq 200); do
    test -s "$said" && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.05
  done
  kill -TERM $pid 2>/dev/null
  wait $pid || code=$?
  cat "$said"
  test $code = 143 && code=0
  return $code
}
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
`

// prepared returns a command as bash is to run it, at an address.
func (c command) prepared(i int, address string) string {
	text := c.text
	text = strings.ReplaceAll(text, "go run ./cmd/shardsh ", "shardsh ")
	if strings.HasPrefix(text, "shardsh serve") {
		text = strings.Replace(text, "--port 27017", "--port 0", 1)
		if !strings.Contains(text, "--port") {
			text = strings.Replace(text, "shardsh serve", "shardsh serve --port 0", 1)
		}
	} else {
		text = strings.ReplaceAll(text, "mongodb+srv://cluster.example.com", "mongodb://host:27017")
		text = anyHost.ReplaceAllString(text, address)
	}
	switch {
	case asks.MatchString(text) || strings.Contains(text, " --confirm"):
		const onTerminal = "cat >asks.%d <<'ENDS'\n%s\nENDS\nprintf 'y\\n%%.0s' {1..9} | script -qfec 'bash asks.%d' /dev/null"
		return fmt.Sprintf(onTerminal, i, text, i)
	case endless.MatchString(text) && !ends.MatchString(text):
		return "endless " + text
	}
	return text
}

// bash runs commands one after the other in one shell, and returns how each ended.
func (d *desk) bash(list []command, env ...string) []ran {
	d.t.Helper()
	dir := d.t.TempDir()
	address := ""
	for _, c := range list {
		if anyHost.MatchString(c.text) || strings.Contains(c.text, "$MONGODB_URI") || strings.Contains(c.text, "+srv") {
			address = d.serve()
			env = append(env, "MONGODB_URI=mongodb://"+address+"/")
			break
		}
	}
	var b strings.Builder
	b.WriteString(prelude)
	file := func(kind string, i int) string { return filepath.Join(dir, kind+strconv.Itoa(i)) }
	for i, c := range list {
		write(d.t, file("in", i), c.typed)
		fmt.Fprintf(&b, "{ %s\n} <%s >%s 2>%s\necho $? >%s\n", c.prepared(i, address),
			file("in", i), file("out", i), file("errs", i), file("code", i))
	}
	write(d.t, file("all", 0), b.String())
	_, err := d.run(d.t.Context(), d.dir, append(env, "DIR="+d.dir), "bash", file("all", 0))
	var results []ran
	for i, c := range list {
		r := ran{out: text(file("out", i)), errs: text(file("errs", i))}
		code, bad := strconv.Atoi(strings.TrimSpace(text(file("code", i))))
		if r.code = code; bad != nil {
			d.t.Fatalf("%s: bash came to no end: %v\n%s%s", c.text, err, r.out, r.errs)
		}
		want := 0
		if m := exitCode.FindStringSubmatch(c.text); m != nil {
			want, _ = strconv.Atoi(m[1])
		}
		if r.code != want {
			d.t.Errorf("%s ends with %d and not with %d\n%s%s", c.text, r.code, want, r.out, r.errs)
		}
		results = append(results, r)
	}
	return results
}

// text returns what is in a file, nothing if it is not there.
func text(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCommandsOf(t *testing.T) {
	list := commandsOf("# nothing\na b \\\n  c\n\nd 'e\nf'   # exit code 3\ng &\n")
	var texts []string
	for _, c := range list {
		texts = append(texts, c.text)
	}
	if got := strings.Join(texts, "|"); got != "a b \\\n  c|d 'e\nf'   # exit code 3|g &" {
		t.Errorf("%q", got)
	}
	s := sessionOf(nil, "$ a\nx\n$ shardsh --quiet\n[mock: mongos] test> 1\n1\n[mock: mongos] test> [\n... 2]\n[ 2 ]\n")
	if len(s) != 2 || s[0].shown != "x\n" || s[1].typed != "1\n[\n2]\n" ||
		s[1].shown != "[mock: mongos] test> 1\n[mock: mongos] test> ... [ 2 ]\n" {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(s[1].text, "--interactive") {
		t.Error(s[1].text)
	}
}
