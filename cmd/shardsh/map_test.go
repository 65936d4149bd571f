package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMap(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	args := []string{"map", "--quiet", "--mock=" + topology, "--ns", "shop.orders"}
	code, stdout, stderr := runProgram(t, "", args...)
	// Alpha's two chunks have 2 GiB each and share what is left beside beta's cell.
	want := `shop.orders
  4 GiB in 3 chunks on 2 shards
  widths: bytes, averaged over each shard's chunks

` + strings.Repeat(" ", 40) + `E
  A` + strings.Repeat("─", 37) + `BA` + strings.Repeat("─", 38) + "\n"
	if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit code %d, errors %q, output\n%s\nwant\n%s", code, stderr, stdout, want)
	}
	code, stdout, stderr = runProgram(t, "", append(args, "--json")...)
	var m struct {
		NS, Widths    string
		Chunks, Bytes int64
		Shards        []struct {
			Shard  string
			Chunks int64
		}
		Cells []struct{ From []any }
	}
	if err := json.Unmarshal([]byte(stdout), &m); code != exitOK || err != nil || m.NS != "shop.orders" ||
		m.Widths != "shard" || m.Chunks != 3 || m.Bytes != 4<<30 || len(m.Shards) != 2 || m.Shards[0].Shard != "alpha" ||
		m.Shards[0].Chunks != 2 || len(m.Cells) != 78 {
		t.Errorf("exit code %d, errors %q, %v: %.500s", code, stderr, err, stdout)
	}
	for line := range strings.Lines(output(t, append(args, "--width", "200")...)) {
		if strings.HasPrefix(line, "  A") && strings.HasSuffix(line, "─\n") && len([]rune(line)) != 201 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := runProgram(t, "", args...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stdout
}

func TestMapLine(t *testing.T) {
	topology := writeFile(t, "topology.json", lopsidedTopology)
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no collection given": {nil, exitUsage, "--ns DB.COLLECTION is required"},
		"no such collection":  {[]string{"--ns", "shop.order"}, exitUsage, "shop.order is not a sharded collection"},
		"a width of nothing":  {[]string{"--ns", "shop.orders", "--width", "-1"}, exitUsage, "--width takes a number"},
		"an unknown format":   {[]string{"--ns", "shop.orders", "--output", "svg"}, exitUsage, "--output takes text, json"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"map", "--mock=" + topology}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
