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

// Error has the names of options as the fields of an object.
func (e *OptionError) Error() string {
	return e.SpellOptions(func(option string) string { return option })
}

var optionName = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// SpellOptions returns the text with option names spelled by spell, as each interface (CLI, shell) does.
func (e *OptionError) SpellOptions(spell func(option string) string) string {
	format := optionName.ReplaceAllStringFunc(e.format, func(name string) string { return spell(name[1 : len(name)-1]) })
	return fmt.Sprintf(format, e.args...)
}

// OptionSpeller is an error that names options, which each face spells its own way.
type OptionSpeller interface {
	error
	SpellOptions(spell func(option string) string) string
}

// Flag returns an option as the command line spells it: pauseBetween is
// --pause-between.
func Flag(option string) string {
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

// DefaultParallel is how many moves run at once, unless set otherwise.
const DefaultParallel = 1

// Pace says at which pace something moves.
type Pace struct {
	// MaxMoves and MaxBytes end a run before more has moved: zero is DefaultMaxMoves and
	// DefaultMaxBytes, NoLimit is without a limit. For ends it after a time; zero never.
	MaxMoves int
	MaxBytes int64
	For      time.Duration
	// PauseBetween is how long to wait after each step.
	PauseBetween time.Duration
	// Window is when moves begin, by the cluster's clock; nil is always.
	Window *pace.Window
	// TimeZone is that of the config servers, as that of Forecast: where the balancer
	// has a window that can't be placed, nothing begins beside it.
	TimeZone string
	// PauseWhen is when nothing begins; nil is never.
	PauseWhen *pace.Condition
	// DiskLimit is the share of its volume that no shard may fill by what it receives; zero
	// does not ask.
	DiskLimit float64
	// Parallel is how many moves run at once: DefaultParallel, unless set. A shard
	// takes part in one at a time.
	Parallel int
	// Metrics is the address where Prometheus is answered; empty is nowhere.
	Metrics string

	hours                         [][]*pace.Window // of policies: one window of each has to be open
	movesNote, bytesNote, forNote string           // whose limits they are, if a policy has set them
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

// checkDiskLimit refuses what is not a share of a volume.
func checkDiskLimit(share float64) error {
	if share < 0 || share > 1 {
		return refuse("{diskLimit} is a share from 1%% to 100%%, not %s", humanize.Percent(share))
	}
	return nil
}

// RunOptions says how a plan is carried out.
type RunOptions struct {
	Pace
	Control
	PreflightOptions
	Proof
	// PauseBalancing switches the cluster's own balancing of the collections off
	// meanwhile.
	PauseBalancing bool
	// ForceJumbo moves by force what is too large and has one shard key, which blocks
	// writes to its collection meanwhile. Else it stays.
	ForceJumbo bool
	// DryRun sends no command that changes something. Commands are reported as
	// WouldSend, and returned.
	DryRun bool
	// Journal is the file that says what is done; empty is the ID of the plan with
	// the suffix .journal. NoJournal keeps none: the run can't be resumed or undone.
	Journal   string
	NoJournal bool
	// Resume is the journal of an earlier run to go on with.
	Resume string
}

func (e RunOptions) validate() error {
	if e.Journal != "" && e.Resume != "" {
		return refuse("{resume} names its journal: leave {journal} out")
	}
	if err := cmp.Or(e.PreflightOptions.validate(), e.Proof.validate()); err != nil {
		return err
	}
	return e.Pace.validate()
}
