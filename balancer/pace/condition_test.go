package pace

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

func TestParseConditionRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `ends too early: expected one of active, cache, connections, cpu, deletions, dirty, disk, lag,`,
		"lagg > 10s":               `at "lagg > 10s": expected one of active, cache,`,
		"lag":                      `ends too early: expected >, >=, < or <= after lag`,
		"lag = 10s":                `at "= 10s": expected >, >=, < or <= after lag`,
		"lag >":                    `ends too early: "" is not a valid lag: use a time, such as 10s`,
		"lag > much":               `at "much": "much" is not a valid lag: use a time`,
		"lag > -1s":                `"-1s" is not a valid lag`,
		"queue > 10s":              `"10s" is not a valid queue: use a number, such as 50`,
		"cpu > 80":                 `"80" is not a valid cpu: use a share, such as 0.8 or 80%`,
		"queue > NaN":              `"NaN" is not a valid queue`,
		"queue > 1 lag > 1s":       `at "lag > 1s": expected and, or, or the end`,
		"queue > 1 or":             `ends too early: expected one of`,
		"(queue > 1":               `ends too early: missing )`,
		"queue > 1)":               `at ")": expected and, or, or the end`,
		"queue => 1":               `at "=> 1": expected >, >=, < or <= after queue`,
		"queue > 1 && lag > 1s":    `at "&& lag > 1s": expected and, or, or the end`,
		strings.Repeat("(", 60):    `too many nested parentheses`,
		"queue > 1 or\xff\xfe > 2": `at "or\xff\xfe > 2"`,
	} {
		_, err := ParseCondition(text)
		if !errors.As(err, new(*ParseError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestConditionJudges(t *testing.T) {
	a := Reading{"s1/a:1", map[Quantity]float64{Lag: 2, Queue: 70, CPU: 0.5, Oplog: 7200, Disk: 0.9}}
	b := Reading{"s1/b:1", map[Quantity]float64{Lag: 14, Dirty: 0.2, MajorityLag: 7}}
	config := Reading{"config/c:1", map[Quantity]float64{ConfigPrefix + Queue: 30}}
	for _, tt := range []struct {
		text   string
		holds  bool
		why    string
		untold []Quantity
	}{
		{"lag > 10s", true, "lag 14s on s1/b:1 > 10s", nil},
		{"lag>10", true, "lag 14s on s1/b:1 > 10s", nil},
		{"lag > 14s", false, "", nil},
		{"lag >= 14s", true, "lag 14s on s1/b:1 >= 14s", nil},
		{"oplog < 24h", true, "oplog 2h on s1/a:1 < 24h", nil},
		{"oplog <= 1h59m", false, "", nil},
		{"lag < 3s", true, "lag 2s on s1/a:1 < 3s", nil}, // the one that is nearest to it
		{"queue > 50 and lag > 10s", true, "queue 70 on s1/a:1 > 50, lag 14s on s1/b:1 > 10s", nil},
		{"QUEUE > 50 AND Dirty > 5.5%", true, "queue 70 on s1/a:1 > 50, dirty 20% on s1/b:1 > 5.5%", nil},
		{"queue > 80 or cpu > 0.8 or lag > 10s", true, "lag 14s on s1/b:1 > 10s", nil},
		{"queue > 80 and queue > 60 or queue > 69", true, "queue 70 on s1/a:1 > 60, queue 70 on s1/a:1 > 69", nil},
		{"queue > 80 and (queue > 60 or queue > 69)", false, "queue 70 on s1/a:1 > 60, queue 70 on s1/a:1 > 69", nil},
		{"active > 3", false, "", []Quantity{Active}},
		{"disk > 85%", true, "disk 90% on s1/a:1 > 85%", nil},
		{"deletions > 1000 or majority-lag > 5s", true, "majority-lag 7s on s1/b:1 > 5s", []Quantity{Deletions}},
		{"config.queue > 20", true, "config.queue 30 on config/c:1 > 20", nil}, // and not that of s1/a:1
		{"config.lag > 1s", false, "", []Quantity{"config.lag"}},
		{"active > 3 or queue > 60", true, "queue 70 on s1/a:1 > 60", []Quantity{Active}},
		{"queue > 60 and (active > 3 or connections < 5 and active < 9)", false, "queue 70 on s1/a:1 > 60",
			[]Quantity{Active, Connections}},
	} {
		c, err := ParseCondition(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		v := c.Evaluate([]Reading{a, b, config})
		if why := strings.Join(v.Reasons, ", "); v.Holds != tt.holds || why != tt.why || !slices.Equal(v.Unreported, tt.untold) {
			t.Errorf("%q: %+v", tt.text, v)
		}
	}
}

// Whatever is given, a condition or a *ParseError comes of it, and a condition means
// the same in parentheses.
func FuzzParseCondition(f *testing.F) {
	for _, text := range []string{"lag > 10s or queue > 50 or cpu > 0.8", "(lag>1ms and queue<=5)or dirty >= 20%", "((", "oplog <"} {
		f.Add(text)
	}
	readings := []Reading{{"a", map[Quantity]float64{Lag: 2, Queue: 70, CPU: 0.9, Oplog: 7200}}, {"b", map[Quantity]float64{Dirty: 1}}}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if err != nil {
			var e *ParseError
			if !errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.Error() == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		if strings.Count(text, "(") >= maxDepth {
			return
		}
		again, err := ParseCondition("(" + text + ")")
		if err != nil || again.Evaluate(readings).Holds != c.Evaluate(readings).Holds || len(c.Quantities()) == 0 {
			t.Errorf("in parentheses it is another one: %v", err)
		}
	})
}

// gateOf pauses as a condition says of what the script tells at each look.
func gateOf(t *testing.T, condition string, told *[]string, read func(look int, of []catalog.ShardID) ([]Reading, error)) *Gate {
	t.Helper()
	c, err := ParseCondition(condition)
	if err != nil {
		t.Fatal(err)
	}
	look := 0
	return NewGate(Rules{PauseWhen: c}, wall{}, WithEvents(func(e Event) { *told = append(*told, e.Text) }),
		WithMembers(func(_ context.Context, of []catalog.ShardID) ([]Reading, error) {
			look++
			return read(look, of)
		}))
}

func lagging(seconds float64) []Reading {
	return []Reading{{"s2/h:1", map[Quantity]float64{Lag: seconds}}}
}

// It waits as long as the condition holds and a while longer, and tells so once.
func TestPausesWhen(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := gateOf(t, "lag > 10s", &told, func(look int, of []catalog.ShardID) ([]Reading, error) {
			if !slices.Equal(of, []catalog.ShardID{"s1", "s2"}) {
				t.Errorf("asked for %v", of)
			}
			lags := []float64{1, 14, 20, 2, 11, 3, 3, 3, 3} // it flickers
			return lagging(lags[min(look, len(lags))-1]), nil
		})
		m := move("s1", "s2", 1)
		if waited := mustEnter(t, g, m); waited != 0 {
			t.Errorf("the first waited %s", waited)
		}
		// Four looks until it is below for good, and half a minute.
		if waited := mustEnter(t, g, m); waited != 70*time.Second {
			t.Errorf("the second waited %s", waited)
		}
		if want := []string{"paused: lag 14s on s2/h:1 > 10s", "continuing after 1m10s"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
		if s := g.Stats(); s.Waited[WaitCondition] != 70*time.Second {
			t.Errorf("%+v", s)
		}
	})
}

// What nobody tells pauses nothing, and is told of once.
func TestUntold(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := gateOf(t, "cpu > 0.5 or lag > 10s", &told, func(int, []catalog.ShardID) ([]Reading, error) { return lagging(1), nil })
		for range 3 {
			if waited := mustEnter(t, g, move("s1", "s2", 1)); waited != 0 {
				t.Errorf("waited %s", waited)
			}
		}
		if want := []string{"no member reports cpu: --pause-when ignores it"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	})
}

// Members that can't be asked are not members that have time.
func TestMembersWithoutAnswer(t *testing.T) {
	bubbled(t, func(t *testing.T) {
		var told []string
		g := gateOf(t, "lag > 10s", &told, func(look int, _ []catalog.ShardID) ([]Reading, error) {
			if look < 4 {
				return nil, errBroken
			}
			return lagging(1), nil
		})
		if waited := mustEnter(t, g, move("s1", "", 1)); waited != 15*time.Second {
			t.Errorf("waited %s", waited)
		}
		g = gateOf(t, "lag > 10s", &told, func(int, []catalog.ShardID) ([]Reading, error) { return nil, errDenied })
		if err := g.Enter(t.Context(), move("s1", "s2", 1)); !errors.As(err, new(*OperatorNeededError)) || !errors.Is(err, errDenied) {
			t.Error(err)
		}
	})
}
