package action

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/runner"
)

// jobOptions are the options of a job as stored in the cluster. They contain no secrets.
type jobOptions struct {
	Verb           string          `json:"verb"`
	Shard          catalog.ShardID `json:"shard,omitzero"`
	Namespaces     []string        `json:"ns,omitempty"`
	All            bool            `json:"all,omitzero"`
	Remove         bool            `json:"remove,omitzero"`
	MovePrimaries  bool            `json:"movePrimaries,omitzero"`
	PauseBalancing bool            `json:"pauseBalancing,omitzero"`
	ForceJumbo     bool            `json:"forceJumbo,omitzero"`
	MaxMoves       int             `json:"maxMoves,omitzero"`
	MaxBytes       int64           `json:"maxBytes,omitzero"`
	MaxDuration    string          `json:"for,omitzero"`
	PauseBetween   string          `json:"pauseBetween,omitzero"`
	Window         string          `json:"window,omitzero"`
	TimeZone       string          `json:"timeZone,omitzero"`
	PauseWhen      string          `json:"pauseWhen,omitzero"`
	DiskLimit      float64         `json:"diskLimit,omitzero"`
	Parallel       int             `json:"parallel"`
	Despite        string          `json:"despite,omitzero"` // codes, separated by commas
	// advisoriesFile is a file on the calling machine. It is not stored.
	advisoriesFile string
}

// asJob returns the drain as a job. There is one job for each shard.
func (d Drain) asJob() (string, jobOptions, error) {
	if d.Shard == "" {
		return "", jobOptions{}, refuse("drain needs {shard}")
	}
	o := jobOptions{Verb: "drain", Shard: d.Shard, Remove: d.Remove, MovePrimaries: d.MovePrimaries}
	err := o.addRunOptions(d.RunOptions)
	return "drain:" + string(d.Shard), o, err
}

// asJob returns the defragmentation as a job. There is one job for the same collections.
func (d Defragment) asJob() (string, jobOptions, error) {
	id, o, err := collectionJob("defragment", d.Namespaces, d.All)
	if err != nil {
		return "", o, err
	}
	err = o.addRunOptions(d.RunOptions)
	return id, o, err
}

// asJob returns the balancing as a job. There is one job for the same collections. The job executes
// plans, so it balances like the cluster's own balancer would.
func (b Balance) asJob() (string, jobOptions, error) {
	id, o, err := collectionJob("balance", b.Namespaces, b.All)
	switch {
	case err != nil:
		return "", o, err
	case b.Goal != "" && b.Goal != runner.GoalSize || b.Order != "" && b.Order != runner.OrderPolicy || b.CoolDown > 0 ||
		b.Seed > 0:
		return "", o, refuse("a job has no {goal}, {order}, {coolDown} and {seed}: " +
			"it balances as the cluster's balancer does")
	}
	err = o.addRunOptions(RunOptions{
		Pace:             b.Pace,
		Control:          b.Control,
		PreflightOptions: b.PreflightOptions,
		PauseBalancing:   b.PauseBalancing,
		DryRun:           b.DryRun,
		ForceJumbo:       b.ForceJumbo,
	})
	return id, o, err
}

func collectionJob(verb string, namespaces []string, all bool) (string, jobOptions, error) {
	o := jobOptions{Verb: verb, Namespaces: slices.Sorted(slices.Values(namespaces)), All: all}
	id := verb + ":all"
	if !all {
		id = verb + ":" + strings.Join(o.Namespaces, ",")
	}
	return id, o, requireNamespaces(namespaces, all)
}

// addRunOptions copies the options that all verbs share.
func (o *jobOptions) addRunOptions(e RunOptions) error {
	switch {
	case e.DryRun || e.PreflightOnly:
		return refuse("a job has no {dryRun} and no {preflight}: leave out start")
	case e.Journal != "" || e.ResumeJournal != "":
		return refuse("the journal of a job lies in the cluster: leave out {journal} and {resume}")
	case e.MetricsAddress != "":
		return refuse("a job has no {metrics}: status shows its progress")
	case e.Window != nil && e.Window.IsLocal:
		return refuse("the {window} of a job needs its time zone, as its calls come from many machines: \"%s UTC\"",
			e.Window.Window.String())
	}
	o.PauseBalancing, o.ForceJumbo, o.Parallel = e.PauseBalancing, e.ForceJumbo, e.Parallel
	o.MaxMoves, o.MaxBytes, o.TimeZone = e.MaxMoves, e.MaxBytes, e.TimeZone
	o.DiskLimit, o.Despite, o.advisoriesFile = e.DiskLimit, strings.Join(e.IgnoreObstacles, ","), e.AdvisoriesFile
	o.MaxDuration, o.PauseBetween = durationText(e.MaxDuration), durationText(e.PauseBetween)
	if e.Window != nil {
		o.Window = e.Window.String()
	}
	if e.PauseWhen != nil {
		o.PauseWhen = e.PauseWhen.String()
	}
	return nil
}

func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// text returns the options as stored, in JSON.
func (o jobOptions) text() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return string(text)
}

// optionsOf returns the options of a job.
func optionsOf(job *live.Job) (o jobOptions) {
	_ = json.Unmarshal([]byte(job.Options), &o) // unknown options of a newer version are dropped
	return o
}

// runOptions returns the options that all verbs share.
func (o jobOptions) runOptions() (e RunOptions, err error) {
	e.PauseBalancing, e.ForceJumbo, e.Parallel = o.PauseBalancing, o.ForceJumbo, o.Parallel
	e.MaxMoves, e.MaxBytes, e.TimeZone, e.DiskLimit = o.MaxMoves, o.MaxBytes, o.TimeZone, o.DiskLimit
	e.AdvisoriesFile = o.advisoriesFile
	if o.Despite != "" {
		e.IgnoreObstacles = strings.Split(o.Despite, ",")
	}
	if o.MaxDuration != "" {
		e.MaxDuration, err = time.ParseDuration(o.MaxDuration)
	}
	if o.PauseBetween != "" && err == nil {
		e.PauseBetween, err = time.ParseDuration(o.PauseBetween)
	}
	if o.Window != "" && err == nil {
		e.Window, err = pace.ParseWindow(o.Window, time.UTC)
	}
	if o.PauseWhen != "" && err == nil {
		e.PauseWhen, err = pace.ParseCondition(o.PauseWhen)
	}
	if err != nil {
		err = fmt.Errorf("the options of the job: %w", err)
	}
	return e, err
}

// flags returns the options as on a command line.
func (o jobOptions) flags() string {
	var words []string
	add := func(option, value string) {
		if value != "" && value != "0" {
			words = append(words, SpellAsFlag(option), shellQuote(value))
		}
	}
	set := func(option string, on bool) {
		if on {
			words = append(words, SpellAsFlag(option))
		}
	}
	words = append(words, o.targetFlags())
	set("remove", o.Remove)
	set("movePrimaries", o.MovePrimaries)
	set("pauseBalancing", o.PauseBalancing)
	set("forceJumbo", o.ForceJumbo)
	add("despite", o.Despite)
	add("maxMoves", limitText(int64(o.MaxMoves), func(n int64) string { return strconv.FormatInt(n, 10) }))
	add("maxBytes", limitText(o.MaxBytes, exactSize))
	add("for", o.MaxDuration)
	add("pauseBetween", o.PauseBetween)
	add("window", o.Window)
	add("timeZone", o.TimeZone)
	add("pauseWhen", o.PauseWhen)
	if o.DiskLimit > 0 {
		add("diskLimit", strconv.FormatFloat(o.DiskLimit, 'g', -1, 64))
	}
	if o.Parallel > DefaultParallel {
		add("parallel", strconv.Itoa(o.Parallel))
	}
	return strings.Join(words, " ")
}

// limitText returns a limit as the value of an option.
func limitText(n int64, text func(int64) string) string {
	switch n {
	case 0:
		return ""
	case NoLimit:
		return "none"
	}
	return text(n)
}

// exactSize returns a size as the value of an option, without rounding.
func exactSize(n int64) string {
	for _, unit := range []struct {
		name string
		n    int64
	}{{"GB", 1e9}, {"GiB", 1 << 30}, {"MB", 1e6}, {"MiB", 1 << 20}} {
		if n%unit.n == 0 {
			return strconv.FormatInt(n/unit.n, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// shellQuote quotes a word for a shell, if that is necessary.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return r == '-' || r == '_' || r == '.' || r == '/' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z'
	}
	if !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// targetFlags returns the options that identify the job.
func (o jobOptions) targetFlags() string {
	switch {
	case o.Shard != "":
		return SpellAsFlag("shard") + " " + shellQuote(string(o.Shard))
	case o.All:
		return SpellAsFlag("all")
	}
	var words []string
	for _, ns := range o.Namespaces {
		words = append(words, SpellAsFlag("ns")+" "+shellQuote(ns))
	}
	return strings.Join(words, " ")
}
