package main

import (
	"strings"
	"testing"

	"shardsh/cmd/shardsh/cmdline"
)

// What only looks takes the time zone of the config servers, as forecasts do.
func TestTimeZoneOfLooks(t *testing.T) {
	for _, line := range [][]string{
		{"check"}, {"map", "--ns", "shop.orders"}, {"report", "--json", "--quick"}, {"watch", "--once"},
	} {
		code, _, stderr := runProgram(t, "", append(line, "--mock", "--time-zone", "Mars")...)
		if code != exitUsage || !strings.Contains(stderr, `--time-zone: "Mars" is not a valid time zone`) {
			t.Errorf("%v: %d, %s", line, code, stderr)
		}
	}
}

// Each cluster of a fleet has it, too.
func TestTimeZoneOfFleets(t *testing.T) {
	file := writeFile(t, "fleet.yaml", `clusters: [{name: a, mock: "2"}]`)
	check, report, watch := new(checkFlags), new(reportFlags), new(watchFlags)
	for _, c := range []struct {
		command
		source *sourceFlags
		arg    string
	}{
		{check, &check.sourceFlags, "--json"}, {report, &report.sourceFlags, "--json"}, {watch, &watch.sourceFlags, "--once"},
	} {
		words, _, _, err := cmdline.Parse(c.groups(), []string{"--targets", file, "--time-zone", "Europe/Berlin", c.arg})
		if err == nil {
			err = c.parseArgs(environment{}, words)
		}
		if err != nil {
			t.Fatal(err)
		}
		if one := c.source.flagsForTarget(c.source.fleet.list[0]); one.location.String() != "Europe/Berlin" {
			t.Errorf("%T: %v", c.command, one.location)
		}
	}
}
