package findings_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

var agreeClusters = flag.Int("agree.clusters", 12, "how many random clusters the verbs are held to each other on")

func drawnClusters() int {
	if testing.Short() {
		return min(*agreeClusters, 6)
	}
	return *agreeClusters
}

// said is what the verbs say of one cluster.
type said struct {
	// bySize: before, large chunks are split while they fail to move, and how many there are
	// is up to when that is; it shows where chunks are many times too large.
	bySize bool
	why    answer
	broken map[string]bool
	plan   struct {
		Reached bool
		Steps   []struct{ Kind, Ns, Reason string }
		Left    []finding
		Totals  struct {
			Moves int
			Bytes int64
		}
	}
	forecast struct {
		Headline                  string
		Done, Never, IfSwitchedOn bool
		Moves                     int
		Bytes                     int64
		Left                      int
		LikelyMS                  int64
		Because                   []finding
	}
}

func (c *cluster) asked() (s said) {
	c.Helper()
	s.why = c.why("")
	for input, into := range map[string]any{"sh.plan()": &s.plan, "sh.forecast()": &s.forecast} {
		text, err := c.eval("EJSON.stringify(" + input + ")")
		if err == nil {
			text = text[strings.LastIndex(text, "\n")+1:] // after the known faults
			err = json.Unmarshal([]byte(text), into)
		}
		if err != nil {
			c.Fatalf("%s: %v: %s", input, err, text)
		}
	}
	return s
}

// checked returns the rules that a check finds broken, and those that it can't tell.
func (c *cluster) checked() map[string]bool {
	open := func(context.Context) (action.Source, error) { return action.Source{Client: c.client}, nil }
	report, err := action.Check{Policy: check.Default()}.Run(c.Context(), open, nil)
	if err != nil || report.Result == nil {
		c.Fatal(err, report.Failure)
	}
	broken := make(map[string]bool)
	for _, f := range report.Result.Findings {
		broken[f.Rule] = broken[f.Rule] || f.Severity >= diagnosis.Warning || f.Unknown // excused or not
	}
	return broken
}

func (s said) String() string {
	steps := make(map[string]int)
	for _, step := range s.plan.Steps {
		steps[step.Kind+" "+step.Reason]++
	}
	return fmt.Sprintf("why: %s\n%s\nplan: reached %v, steps %v, totals %+v, left %v\nforecast: %+v", s.why.Headline, s.why, s.plan.Reached,
		steps, s.plan.Totals, s.plan.Left, s.forecast)
}

func TestVerbsAgree(t *testing.T) {
	for seed := range drawnClusters() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			drawn := drawCluster(uint64(seed))
			c := newCluster(t, drawn.version, drawn.topology)
			c.do(drawn.setup...)
			s := c.asked()
			s.broken = c.checked()
			s.bySize = drawn.version.FCVAtLeast(catalog.Release60) || !strings.Contains(drawn.topology, `"chunkSizeMB": 1}`)
			for _, wrong := range s.contradictions() {
				t.Errorf("%s\n%s\n%s", wrong, drawn, s)
			}
		})
	}
}

// contradictions are what can't be true at once of what was said.
func (s said) contradictions() (list []string) {
	say := func(holds bool, text string) {
		if holds {
			list = append(list, text)
		}
	}
	moves := slices.ContainsFunc(s.plan.Steps, func(step struct{ Kind, Ns, Reason string }) bool { return step.Kind == "move" })
	_, uneven := s.why.named("notBalanced")
	_, off := s.why.named("balancerOff")
	say(s.why.Healthy && !s.forecast.Done, "nothing is wrong, but the forecast has work")
	say(s.why.Healthy && moves, "nothing is wrong, but the plan moves")
	say(s.forecast.Done && moves, "nothing is left to do, but the plan moves")
	_, working := s.why.named("migrationUnderWay")
	say(s.forecast.Done && uneven && !working, "nothing is left to do, but a collection is not balanced")
	say(s.forecast.Done && !s.plan.Reached, "nothing is left to do, but the plan does not reach the goal")
	say(s.forecast.Never && s.plan.Reached && !off && !s.forecast.IfSwitchedOn, "the plan reaches what never comes")
	say(!s.forecast.Never && !s.forecast.Done && !s.plan.Reached && !working, "what comes is not reached by the plan")
	under := 0 // migrations under way are moves of the forecast's
	for _, f := range s.why.Notes {
		if f.Code == "migrationUnderWay" {
			under++
		}
	}
	apart := max(s.plan.Totals.Moves-s.forecast.Moves, s.forecast.Moves-under-s.plan.Totals.Moves)
	say(s.bySize && apart > 2+s.plan.Totals.Moves/10, "forecast and plan count other moves")
	say(!s.plan.Reached && len(s.plan.Left) == 0, "the plan does not say what keeps it from the goal")
	say(s.forecast.Never && len(s.forecast.Because) == 0, "the forecast does not say what keeps it")
	_, down := s.why.named("shardUnreachable")
	_, slow := s.why.named("shardSlow")
	for rule, codes := range map[string][]string{
		"shards": {"shardUnreachable"}, "jumbo": {"jumboChunks"}, "draining": {"drainNeedsOperator", "onlyShardOfZone"},
		"compliant": {"notBalanced", "notBalancedHeld", "balanceUnknown"},
	} {
		told := slices.ContainsFunc(codes, func(code string) bool {
			f, is := s.why.named(code)
			return is && (code != "drainNeedsOperator" || strings.Contains(f.Sentence, "stuck")) // what goes on is fine
		})
		if rule != "shards" && (down || slow) {
			continue // what is asked of the shard is known or not, and other things happen while it answers
		}
		say(told != s.broken[rule], fmt.Sprintf("why tells %s: %v, the rule %s of check is broken: %v", codes, told, rule, s.broken[rule]))
	}
	return list
}

// remedies are the commands of findings that an operator can enter as they are, and those
// in which only a shard has to be chosen.
func (a answer) remedies(another string) (list []finding) {
	for _, f := range slices.Concat(a.Causes, a.Symptoms, a.Notes) {
		for _, commands := range [][]string{f.Commands, f.Instead} {
			text := strings.ReplaceAll(strings.Join(commands, "\n"), "<shard>", fmt.Sprintf("%q", another))
			if text != "" && !strings.Contains(text, "<") {
				f.Commands = strings.Split(text, "\n")
				list = append(list, f)
			}
		}
	}
	return list
}

// Every command that is printed can be entered on the cluster that has the fault.
func TestEveryRemedyRuns(t *testing.T) {
	for seed := range drawnClusters() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			drawn := drawCluster(uint64(seed))
			begun := func() *cluster {
				c := newCluster(t, drawn.version, drawn.topology)
				c.do(drawn.setup...)
				return c
			}
			for _, f := range begun().why("").remedies("a") {
				c := begun()
				for _, command := range f.Commands {
					if out, err := c.eval(command); err != nil {
						// The balancer is at it, and the operator has to try again.
						if strings.Contains(err.Error(), "ConflictingOperationInProgress") || strings.Contains(err.Error(), "HostUnreachable") {
							break // or a shard is down, which comes first
						}
						t.Errorf("%s (%s): %v %s\n%s", f.Code, f.Sentence, err, out, drawn)
					}
				}
			}
		})
	}
}

// An operator who does what is printed, and waits, is told the same thing once.
func TestEveryRemedyHelps(t *testing.T) {
	for seed := range drawnClusters() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			drawn := drawCluster(uint64(seed))
			c := newCluster(t, drawn.version, drawn.topology)
			c.do(drawn.setup...)
			followed := make(map[string]bool)
			for range 20 {
				a := c.why("")
				remedies := slices.DeleteFunc(a.remedies("a"), func(f finding) bool {
					return f.Actor != "operator" || strings.HasPrefix(f.Commands[0], "sh.chunks(") || // looks only
						f.Code == "noChunkInZone" // a chunk at a time
				})
				_, down := a.named("shardUnreachable")
				if len(remedies) == 0 || down {
					return
				}
				f := remedies[0]
				about := fmt.Sprint(f.Code, f.About, f.Commands)
				if followed[about] {
					t.Fatalf("%s (%s) was followed, and it is there\n%s\n%s", f.Commands, f.Sentence, a, drawn)
				}
				followed[about] = true
				for _, command := range f.Commands {
					out, err := c.eval(command)
					for err != nil && strings.Contains(err.Error(), "ConflictingOperationInProgress") {
						c.do(`mock.advance("1m")`) // the balancer is at it
						out, err = c.eval(command)
					}
					if err != nil {
						t.Fatalf("%s (%s): %v %s\n%s", f.Code, f.Sentence, err, out, drawn)
					}
				}
				c.do(`mock.advance("20m")`)
			}
			t.Fatalf("there is no end of it: %v\n%s", slices.Sorted(maps.Keys(followed)), drawn)
		})
	}
}
