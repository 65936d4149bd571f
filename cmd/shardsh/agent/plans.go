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

// ApprovalLifetime is how long an approval is valid: an old approval must not be used after it was
// forgotten.
const ApprovalLifetime = 24 * time.Hour

// Plans is a directory with plans, their journals, and a file with the hashes of the plans that a
// person has approved. Agents have no tool that writes approvals.
type Plans struct {
	Dir string
	// ApprovalCommand is the command with which a person approves a plan, without the hash at its end.
	ApprovalCommand string
	Now             func() time.Time
}

// maxPlanBytes and maxApprovalsBytes are the maximum sizes of the files, in bytes.
const (
	maxPlanBytes      = 1 << 30
	maxApprovalsBytes = 1 << 20
	readTimeout       = 30 * time.Second
)

// EnsureDir creates the directory if it does not exist.
func (p *Plans) EnsureDir() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("the directory of plans: %w", err)
	}
	return nil
}

func (p *Plans) planPath(hash string) string { return filepath.Join(p.Dir, "plan-"+hash+".json") }

func (p *Plans) journalPath(hash string) string { return filepath.Join(p.Dir, "plan-"+hash+".journal") }

func (p *Plans) approvalsPath() string { return filepath.Join(p.Dir, "approved") }

// save stores a plan, so that a person can approve it.
func (p *Plans) save(of *plan.Plan) error {
	return safefile.Replace(p.planPath(of.Hash), func(to io.Writer) error { return json.NewEncoder(to).Encode(of) })
}

// approveCommand returns the command that approves a plan.
func (p *Plans) approveCommand(hash string) string { return p.ApprovalCommand + " " + hash }

// Plan returns the plan with a hash. The hash is validated before it becomes part of a path.
func (p *Plans) Plan(hash string) (*plan.Plan, error) {
	if err := checkHash(hash); err != nil {
		return nil, err
	}
	data, err := safefile.Read(p.planPath(hash), maxPlanBytes, readTimeout)
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
	return made, made.CheckApprovedHash(hash)
}

// checkHash returns an error unless the string is a complete lowercase hash.
func checkHash(hash string) error {
	if len(hash) != 64 || hash != strings.ToLower(hash) {
		return fmt.Errorf("%.80q is not the hash of a plan: give the 64 hexadecimal digits that the tool plan returned", hash)
	}
	return plan.CheckApprovalFormat(hash)
}

// Approve records that a person has approved a plan.
func (p *Plans) Approve(hash string) error {
	if err := checkHash(hash); err != nil {
		return err
	}
	known, err := p.readApprovals()
	if err != nil {
		return err
	}
	return safefile.Replace(p.approvalsPath(), func(to io.Writer) error {
		_, err := fmt.Fprintf(to, "%s%s %s\n", known, hash, p.Now().UTC().Format(time.RFC3339))
		return err
	})
}

// checkApproved returns an error unless a person has approved the plan recently enough.
func (p *Plans) checkApproved(hash string) error {
	known, err := p.readApprovals()
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
		case p.Now().Sub(at) > ApprovalLifetime || at.Sub(p.Now()) > time.Minute:
			reason = fmt.Sprintf(" any more: that was at %s, and counts for %d hours", when, ApprovalLifetime/time.Hour)
		default:
			return nil
		}
	}
	return fmt.Errorf("the plan %s is not approved%s. A person reads and approves it on a terminal: %s",
		hash, reason, p.approveCommand(hash))
}

func (p *Plans) readApprovals() ([]byte, error) {
	known, err := safefile.Read(p.approvalsPath(), maxApprovalsBytes, readTimeout)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return known, err
}
