package doctor

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// want wants a line with a name, a grade, and a part of its text and remedy.
func want(t *testing.T, lines []Line, name string, g Grade, part string) {
	t.Helper()
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Name == name })
	if i < 0 {
		t.Errorf("no line %q in %v", name, lines)
		return
	}
	l := lines[i]
	if l.Grade != g || !strings.Contains(l.Text+" -> "+l.Remedy, part) {
		t.Errorf("%s: %s, %s -> %s; want %s, %q", name, l.Grade, l.Text, l.Remedy, g, part)
	}
	if l.Grade == Fail && l.Remedy == "" {
		t.Errorf("%s: no remedy", name)
	}
}

func TestMachine(t *testing.T) {
	machine := func(terminal bool, env map[string]string, files ...File) []Line {
		return Machine{Version: "1.2.3", Terminal: terminal, Columns: 80, Rows: 24, Files: files,
			Getenv: func(name string) (string, bool) { text, ok := env[name]; return text, ok }}.Check()
	}
	plain := machine(false, nil)
	want(t, plain, "terminal", OK, "not a terminal")
	want(t, plain, "locale", Warn, "export LANG=C.UTF-8")
	want(t, machine(true, map[string]string{"TERM": "xterm", "LANG": "de_DE.UTF-8"}), "terminal", OK,
		"xterm, 80 columns, 24 rows, with colours")
	want(t, machine(true, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}), "terminal", OK, "no colours (NO_COLOR is set)")
	want(t, machine(true, map[string]string{"TERM": "dumb"}), "terminal", Warn, "set TERM")
	want(t, machine(true, map[string]string{"LANG": "de_DE.utf8"}), "locale", OK, "LANG")
	want(t, machine(true, map[string]string{"LANG": "de_DE.utf8", "LC_ALL": "C"}), "locale", Warn, "C (LC_ALL) is not UTF-8")
	files := machine(false, nil, File{Name: "none"}, File{Name: "missing", Path: "/m", Missing: true},
		File{Name: "open", Path: "/o", Mode: 0o644}, File{Name: "closed", Path: "/c", Mode: 0o600},
		File{Name: "rc", Path: "/rc", Mode: 0o644, AutoRun: true}, File{Name: "rc of all", Path: "/w", Mode: 0o666, AutoRun: true},
		File{Name: "broken", Path: "/b", Err: errors.New("permission denied")})
	want(t, files, "none", OK, "not saved")
	want(t, files, "missing", OK, "does not exist")
	want(t, files, "open", Warn, "chmod go= /o")
	want(t, files, "closed", OK, "0600")
	want(t, files, "rc", OK, "runs before the first prompt")
	want(t, files, "rc of all", Fail, "is writable by others (mode 0666) -> chmod go-w /w")
	want(t, files, "broken", Warn, "permission denied")
}

func TestReportText(t *testing.T) {
	r := NewReport([]Line{{"A", "one", OK, "fine", ""}, {"A", "two", Warn, "bad\x1b[2J", "mend"}, {"B", "three", OK, "fine", ""}})
	want := "A\n  ok    one               fine\n  warn  two               bad\\x1B[2J\n" + strings.Repeat(" ", 26) +
		"-> mend\nB\n  ok    three             fine\n2 ok, 1 warn, 0 fail\n"
	if r.Grade != Warn || r.Text(false) != want {
		t.Errorf("%s\n%s\nwant\n%s", r.Grade, r.Text(false), want)
	}
	if text := r.Text(true); !strings.Contains(text, "\x1b[33mwarn\x1b[0m") || strings.Contains(text, "\x1b[2J") {
		t.Errorf("%q", text)
	}
}

// The roles are those of the script, with what each release has.
func TestRoles(t *testing.T) {
	actions := func(version string) (all []string) {
		roles, err := Roles(version)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range roles {
			names = append(names, r.Name)
			for _, p := range r.Privileges {
				all = append(all, p.Actions...)
			}
		}
		if want := []string{"shardshLook", "shardshEngine", "shardshHelpers"}; !slices.Equal(names, want) {
			t.Fatalf("%q", names)
		}
		return all
	}
	for action, since := range map[string]string{"listShards": "4.4.0", "reshardCollection": "5.0.0", "moveCollection": "8.0.0"} {
		if !slices.Contains(actions(since), action) {
			t.Errorf("%s has no %s", since, action)
		}
	}
	if slices.Contains(actions("4.4.0"), "reshardCollection") || slices.Contains(actions("7.0.5"), "moveCollection") {
		t.Error("a release has what came later")
	}
}

func TestMissing(t *testing.T) {
	all, config := Resource{}, Resource{DB: "config"}
	sessions := Resource{DB: "config", Collection: "system.sessions"}
	for name, c := range map[string]struct {
		wanted Resource
		held   Resource
		ok     bool
	}{
		"the same":                    {config, config, true},
		"all for one":                 {config, all, true},
		"one for all":                 {all, config, false},
		"the database for a system's": {sessions, config, false},
		"all for a system's":          {sessions, all, false},
		"a system's itself":           {sessions, sessions, true},
		"a system's of any database":  {sessions, Resource{Collection: "system.sessions"}, true},
		"anything":                    {sessions, Resource{Any: true}, true},
		"the cluster":                 {Resource{Cluster: true}, Resource{Cluster: true}, true},
		"collections for the cluster": {Resource{Cluster: true}, all, false},
		"the cluster for collections": {config, Resource{Cluster: true}, false},
	} {
		missing := MissingPrivileges([]Privilege{{c.wanted, []string{"find", "update"}}}, []Privilege{{c.held, []string{"find"}}})
		lacks := "find update"
		if c.ok {
			lacks = "update"
		}
		if len(missing) != 1 || strings.Join(missing[0].Actions, " ") != lacks {
			t.Errorf("%s: %v", name, missing)
		}
	}
	if m := MissingPrivileges([]Privilege{{config, []string{"find"}}}, []Privilege{{all, []string{"anyAction"}}}); len(m) > 0 {
		t.Error(m)
	}
}

func TestOffered(t *testing.T) {
	for version, want := range map[string][2]string{
		"5.0.3": {"reshardCollection", "moveRange"}, "8.2.1": {"moveCollection", ""}, "2.4.9": {"", "reshardCollection"},
	} {
		s := &section{}
		checkFeatures(s, version)
		has, lacks := "", ""
		for _, l := range s.lines {
			if l.Name == "features" {
				has = l.Text
			} else {
				lacks = l.Text
			}
		}
		if !strings.Contains(has, want[0]) || !strings.Contains(lacks, want[1]) || want[1] == "" && lacks != "" {
			t.Errorf("%s has %q, and lacks %q", version, has, lacks)
		}
	}
}

func TestHosts(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = plain.Close() })
	secured := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secured.Close)
	roots := secured.Client().Transport.(*http.Transport).TLSClientConfig
	until := secured.Certificate().NotAfter
	ask := func(name string, config *tls.Config, now time.Time) []Line {
		return Hosts{Names: []string{name}, TLS: config, Now: func() time.Time { return now }}.Check(t.Context())
	}
	now := time.Now()
	open, shut := plain.Addr().String(), secured.Listener.Addr().String()
	want(t, ask(open, nil, now), open, OK, "without TLS")
	want(t, ask(open, &tls.Config{}, now), open, Fail, "the server may not use TLS")
	want(t, ask(shut, &tls.Config{}, now), shut, Fail, "--tlsCAFile")
	want(t, ask(shut, roots, now), shut, OK, "certificate valid until "+until.Format(time.DateOnly))
	want(t, ask(shut, roots, until.Add(-time.Hour)), shut, Warn, "renew")
	want(t, ask("127.0.0.1:1", nil, now), "127.0.0.1:1", Fail, "check that mongos runs there")
	two := Hosts{Names: []string{"127.0.0.1:1", open}, Now: time.Now}.Check(t.Context())
	if len(two) != 2 || two[0].Grade != Warn || two[1].Grade != OK {
		t.Errorf("%v", two)
	}
}
