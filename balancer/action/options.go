package action

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"shardsh/balancer/humanize"
	"shardsh/balancer/pace"
)

// OptionError says which options are wrong.
type OptionError struct {
	format string // names of options are in braces
	args   []any
}

func refuse(format string, args ...any) error { return &OptionError{format, args} }

// Error returns the text, in which options are named like the fields of an object.
func (e *OptionError) Error() string {
	return e.SpellOptions(func(option string) string { return option })
}

var optionName = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// SpellOptions returns the text with option names spelled by spell, as each interface (CLI, shell) does.
func (e *OptionError) SpellOptions(spell func(option string) string) string {
	format := optionName.ReplaceAllStringFunc(e.format, func(name string) string { return spell(name[1 : len(name)-1]) })
	return fmt.Sprintf(format, e.args...)
}

// OptionSpeller is an error that names options, which each interface (CLI, shell) spells differently.
type OptionSpeller interface {
	error
	SpellOptions(spell func(option string) string) string
}

// SpellAsFlag returns an option in the spelling of the command line: pauseBetween becomes --pause-between.
func SpellAsFlag(option string) string {
	var flag strings.Builder
	flag.WriteString("--")
	for _, r := range option {
		if unicode.IsUpper(r) {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}

// DefaultParallel is the default number of moves that run at once.
const DefaultParallel = 1

// Pace limits how fast and how much a run moves.
type Pace struct {
	// MaxMoves and MaxBytes are the limits at which a run ends: zero means DefaultMaxMoves and
	// DefaultMaxBytes, NoLimit means no limit. MaxDuration is the maximum duration of a run; zero means no
	// limit.
	MaxMoves    int
	MaxBytes    int64
	MaxDuration time.Duration
	// PauseBetween is the wait after each step.
	PauseBetween time.Duration
	// Window is the time of day in which moves may begin, by the cluster's clock; nil means always.
	Window *pace.Window
	// TimeZone is the time zone of the config servers, as in Forecast. If the balancer has a window and
	// its time zone is not known, no step begins beside the balancer.
	TimeZone string
	// PauseWhen is the condition under which no step begins; nil means never.
	PauseWhen *pace.Condition
	// DiskLimit is the maximum fraction of its volume that a shard may fill by receiving chunks; zero
	// disables the check.
	DiskLimit float64
	// Parallel is the number of moves that run at once; zero means DefaultParallel. A shard takes part
	// in one move at a time.
	Parallel int
	// MetricsAddress is the address at which metrics are served; empty means none.
	MetricsAddress string

	policyWindows                      [][]*pace.Window // of policies: one window of each policy has to be open
	movesNote, bytesNote, durationNote string           // which policies have set the limits
}

func (p Pace) validate() error {
	switch {
	case p.Parallel < 1:
		return refuse("{parallel} must be at least 1, not %d", p.Parallel)
	case p.MaxMoves < 0 && p.MaxMoves != NoLimit:
		return refuse("{maxMoves} can't be negative: %d", p.MaxMoves)
	case p.MaxBytes < 0 && p.MaxBytes != NoLimit:
		return refuse("{maxBytes} can't be negative: %d", p.MaxBytes)
	}
	if err := checkDiskLimit(p.DiskLimit); err != nil {
		return err
	}
	_, err := locationOf(p.TimeZone)
	return err
}

// checkDiskLimit returns an error if share is not a fraction of a volume.
func checkDiskLimit(share float64) error {
	if share < 0 || share > 1 {
		return refuse("{diskLimit} is a share from 1%% to 100%%, not %s", humanize.Percent(share))
	}
	return nil
}

// RunOptions says how a plan is executed.
type RunOptions struct {
	Pace
	Control
	PreflightOptions
	RunVerifyOptions
	// PauseBalancing switches off the cluster's own balancing of the collections during the run.
	PauseBalancing bool
	// ForceJumbo moves chunks by force that are too large and whose documents all have the same shard
	// key. Writes to the collection are blocked during such a move. Without ForceJumbo, these chunks
	// stay.
	ForceJumbo bool
	// DryRun sends no command that changes something. The commands are reported as WouldSend, and
	// returned.
	DryRun bool
	// Journal is the file that records the steps that are done; empty means the ID of the plan with the
	// suffix .journal. NoJournal writes no journal: the run can't be resumed or undone.
	Journal   string
	NoJournal bool
	// ResumeJournal is the journal of an earlier run that is to be continued.
	ResumeJournal string
}

func (r RunOptions) validate() error {
	if r.Journal != "" && r.ResumeJournal != "" {
		return refuse("{resume} names its journal: leave {journal} out")
	}
	if err := cmp.Or(r.PreflightOptions.validate(), r.RunVerifyOptions.validate()); err != nil {
		return err
	}
	return r.Pace.validate()
}
