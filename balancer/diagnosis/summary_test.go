package diagnosis

import (
	"slices"
	"testing"
)

// Each thing is said once: first what the operator has to do, the gravest first, then what
// ends by itself once that is done, then what ends in any case.
func TestSummary(t *testing.T) {
	ns := func(name string) Scope { return Scope{Namespace: name} }
	of := func(code Code, scope Scope, commands ...string) Finding {
		return finding(code, scope, string(code), commands...)
	}
	shard := Scope{Shard: "a"}
	for name, c := range map[string]struct {
		answer                    Answer
		toDo, then, itself, notes []string
		headline                  string
	}{
		"nothing": {headline: "nothing is wrong"},
		"at work, which the headline says": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.y"))}}, nil, nil, nil, nil,
			"notBalanced: the balancer is working on it",
		},
		"many at work": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.a")), of(NotBalanced, ns("x.b")), of(NotBalanced, ns("x.c"))}},
			nil, nil, []string{"notBalanced 3"}, nil, "notBalanced: the balancer is working on it; 2 more problems",
		},
		"the balancer is off": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.a")), of(NotBalanced, ns("x.b"))},
				Causes: []Finding{of(BalancerOff, Scope{})}},
			[]string{"balancerOff 1"}, []string{"notBalanced 2"}, nil, nil, "notBalanced: balancerOff; 1 more problem",
		},
		"one of two waits for the operator": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.a")), of(NotBalanced, ns("x.b"))},
				Causes: []Finding{of(OnlyJumboChunks, ns("x.b"))}},
			[]string{"onlyJumboChunks 1"}, []string{"notBalanced 1"}, []string{"notBalanced 1"}, nil,
			"notBalanced: onlyJumboChunks; 1 more problem", // x.b, not x.a, which nothing keeps back
		},
		"a drain that waits for a database, said once": {
			Answer{Symptoms: []Finding{of(DrainNeedsOperator, shard, "sh.movePrimary"), of(Draining, shard)}},
			[]string{"drainNeedsOperator 1"}, nil, nil, nil, "drainNeedsOperator",
		},
		"a drain to nowhere": {
			Answer{Symptoms: []Finding{of(Draining, shard)}, Causes: []Finding{of(NoRecipient, ns("x.y"), "sh.addShard")}},
			[]string{"noRecipient 1"}, []string{"draining 1"}, nil, nil, "draining: noRecipient",
		},
		"one jumbo chunk is one thing": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.a"))}, Causes: []Finding{
				of(OnlyJumboChunks, Scope{Namespace: "x.b", Shard: "a"}, "sh.chunks"), of(JumboChunks, ns("x.b"), "sh.chunks"),
				of(OnlyJumboChunks, Scope{Namespace: "x.c", Shard: "a"}, "sh.chunks")}},
			[]string{"onlyJumboChunks 1", "jumboChunks 1"}, nil, []string{"notBalanced 1"}, nil,
			"onlyJumboChunks; 1 more problem",
		},
		"one remedy for two findings": {
			Answer{Symptoms: []Finding{of(NotBalancedDisabled, ns("x.y"), "sh.enableBalancing")},
				Causes: []Finding{of(BalancingOff, ns("x.y"), "sh.enableBalancing")}},
			[]string{"notBalancedHeld 1"}, nil, nil, nil, "notBalancedHeld: balancingOff",
		},
		"who left it rather than that it is off": {
			Answer{Symptoms: []Finding{of(NotBalancedDisabled, ns("x.y"), "give back")},
				Causes: []Finding{of(LeftPaused, Scope{}, "give back")}},
			[]string{"leftPaused 1"}, nil, nil, nil, "notBalancedHeld: leftPaused",
		},
		"the gravest first": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.y"))},
				Causes: []Finding{of(BalancingOff, ns("x.z")), of(ShardUnreachable, shard), of(JumboChunks, ns("x.y"))},
				Notes:  []Finding{of(Orphans, shard)}},
			[]string{"shardUnreachable 1", "jumboChunks 1", "balancingOff 1"}, []string{"notBalanced 1"}, nil,
			[]string{"orphans 1"}, "shardUnreachable; 1 more problem",
		},
		"a headline that needs somebody": {
			Answer{Symptoms: []Finding{of(NotBalanced, ns("x.y")), of(NotBalanced, ns("x.z"))},
				Causes: []Finding{of(JumboChunks, ns("x.w"))}},
			[]string{"jumboChunks 1"}, nil, []string{"notBalanced 2"}, nil, "jumboChunks; 2 more problems",
		},
	} {
		s := c.answer.Summary()
		for list, want := range map[string][]string{"toDo": c.toDo, "then": c.then, "itself": c.itself, "notes": c.notes} {
			got := map[string][]Group{"toDo": s.ToDo, "then": s.ThenByItself, "itself": s.ByItself, "notes": s.Notes}[list]
			if !slices.Equal(counted(got), want) {
				t.Errorf("%s: %s has %v, want %v", name, list, counted(got), want)
			}
		}
		if got := c.answer.Headline(); got != c.headline {
			t.Errorf("%s: headline %q, want %q", name, got, c.headline)
		}
	}
}

func counted(groups []Group) (list []string) {
	for _, g := range groups {
		list = append(list, string(g.First().Code)+" "+Number{Value: int64(len(g))}.Text())
	}
	return list
}

// A headline names the collection once.
func TestHeadlineNamesTheCollectionOnce(t *testing.T) {
	of := Scope{Namespace: "app.a"}
	a := Answer{
		Symptoms: []Finding{{Code: NotBalanced, Severity: Info, Actor: Balancer, Scope: of, Sentence: "app.a is not balanced (chunksImbalance)"}},
		Causes: []Finding{{Code: OnlyJumboChunks, Severity: Warning, Actor: Operator, Scope: of,
			Sentence: "app.a: the only chunk on s0 is jumbo"}},
	}
	const want = "app.a is not balanced (chunksImbalance): the only chunk on s0 is jumbo"
	if got := a.Headline(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
