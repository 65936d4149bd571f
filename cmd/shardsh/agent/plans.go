package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"shardsh/balancer/plan"
	"shardsh/balancer/safefile"
)

// Approved is how long an approval counts: what a person has read must not be carried out
// when nobody remembers it.
const Approved = 24 * time.Hour

// Plans are a directory with plans, their journals, and a file with the hashes of those
// that a person has approved. Agents have no tool that writes approvals.
type Plans struct {
	Dir string
	// Command is what a person enters to approve a plan; the hash comes after it.
	Command string
	Now     func() time.Time
}

// maxPlan and maxApprovals are the sizes of files that are read, in bytes.
const (
	maxPlan      = 1 << 30
	maxApprovals = 1 << 20
	patience     = 30 * time.Second
)

// Open makes the directory if there is none.
func (p *Plans) Open() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("the directory of plans: %w", err)
	}
	return nil
}

func (p *Plans) file(hash string) string { return filepath.Join(p.Dir, "plan-"+hash+".json") }

func (p *Plans) journal(hash string) string { return filepath.Join(p.Dir, "plan-"+hash+".journal") }

func (p *Plans) approvals() string { return filepath.Join(p.Dir, "approved") }

// keep keeps a plan, so that it can be approved.
func (p *Plans) keep(of *plan.Plan) error {
	return safefile.Replace(p.file(of.Hash), func(to io.Writer) error { return json.NewEncoder(to).Encode(of) })
}

// approval is how a person approves a plan.
func (p *Plans) approval(hash string) string { return p.Command + " " + hash }

// Plan returns the plan with a hash. Nothing but a hash is ever part of a path.
func (p *Plans) Plan(hash string) (*plan.Plan, error) {
	if err := checkHash(hash); err != nil {
		return nil, err
	}
	data, err := safefile.Read(p.file(hash), maxPlan, patience)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no plan with the hash %s: make it with the tool plan", hash)
	}
	if err != nil {
		return nil, err
	}
	made, err := plan.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return made, made.Approved(hash)
}

// checkHash refuses what is not a whole hash, in small letters.
func checkHash(hash string) error {
	if len(hash) != 64 || hash != strings.ToLower(hash) {
		return fmt.Errorf("%.80q is not the hash of a plan: give the 64 hexadecimal digits that the tool plan returned", hash)
	}
	return plan.CheckApproval(hash)
}

// Approve writes down that a person has approved a plan.
func (p *Plans) Approve(hash string) error {
	if err := checkHash(hash); err != nil {
		return err
	}
	known, err := p.read()
	if err != nil {
		return err
	}
	return safefile.Replace(p.approvals(), func(to io.Writer) error {
		_, err := fmt.Fprintf(to, "%s%s %s\n", known, hash, p.Now().UTC().Format(time.RFC3339))
		return err
	})
}

// check returns an error unless a person has approved a plan within the time that counts.
func (p *Plans) check(hash string) error {
	known, err := p.read()
	if err != nil {
		return err
	}
	reason := ""
	for lines := bufio.NewScanner(bytes.NewReader(known)); lines.Scan(); {
		of, when, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if of != hash {
			continue
		}
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(when))
		switch {
		case err != nil:
			reason = ": the line of its approval has no time"
		case p.Now().Sub(at) > Approved || at.Sub(p.Now()) > time.Minute:
			reason = fmt.Sprintf(" any more: that was at %s, and counts for %d hours", when, Approved/time.Hour)
		default:
			return nil
		}
	}
	return fmt.Errorf("the plan %s is not approved%s. A person reads and approves it on a terminal: %s",
		hash, reason, p.approval(hash))
}

func (p *Plans) read() ([]byte, error) {
	known, err := safefile.Read(p.approvals(), maxApprovals, patience)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return known, err
}
