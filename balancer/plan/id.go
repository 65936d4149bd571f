package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"shardsh/balancer/catalog"
)

// computeID returns the ID of a plan, a hash of its content without prose, which may be reworded.
func (p *Plan) computeID() (string, error) { return p.hashID(false) }

// setIDs sets the plan's ID and Hash, which are computed from the other fields.
func (p *Plan) setIDs() (err error) {
	if p.ID, err = p.computeID(); err != nil {
		return err
	}
	p.Hash, err = p.computeHash()
	return err
}

// computeHash returns the full hash of the content that computeID hashes. An ID is too short to be
// secure against an attacker who makes two plans with the same ID and lets the harmless one be
// approved.
func (p *Plan) computeHash() (string, error) {
	h := hasher{sha256.New()}
	head := *p
	head.ID, head.Hash, head.Left, head.Steps = "", "", nil, nil
	if err := json.NewEncoder(h).Encode(&head); err != nil {
		return "", fmt.Errorf("plan: %w", err)
	}
	h.add(len(p.Left))
	for _, f := range p.Left {
		h.add(f.Code, f.Severity, f.Actor, f.Scope, len(f.Numbers), f.Numbers, f.Since.UTC(), f.BalancerActsAt.UTC())
	}
	h.add(len(p.Steps))
	var form []byte
	for _, s := range p.Steps {
		s.Why = ""
		form = s.appendHashInput(form[:0])
		h.add(len(form), s.KnownRange != nil)
		h.Write(form) // never fails
	}
	return h.hexDigits(2 * sha256.Size), nil
}

// MinApprovalDigits is the number of hexadecimal digits of a Hash that identify a plan securely.
const MinApprovalDigits = 32

// ApprovalError says that a plan is not the one that was approved.
type ApprovalError struct{ Plan, Hash, Approved string }

// Error names both hashes.
func (e *ApprovalError) Error() string {
	return fmt.Sprintf("%s is not the plan that was approved: its hash is %s, and what was approved is %s",
		e.Plan, e.Hash, e.Approved)
}

// CheckApprovalFormat returns an error if a string can't be the beginning of a Hash, or is too short.
func CheckApprovalFormat(approved string) error {
	if len(approved) < MinApprovalDigits || len(approved) > 2*sha256.Size ||
		strings.Trim(strings.ToLower(approved), "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not the hash of a plan: give its %d hexadecimal digits, or the first %d at least",
			approved, 2*sha256.Size, MinApprovalDigits)
	}
	return nil
}

// CheckApprovedHash returns an error unless the plan's Hash begins with the approved string.
func (p *Plan) CheckApprovedHash(approved string) error {
	if err := CheckApprovalFormat(approved); err != nil {
		return err
	}
	hash, err := p.computeHash()
	if err == nil && !strings.HasPrefix(hash, strings.ToLower(approved)) {
		err = &ApprovalError{p.ID, hash, approved}
	}
	return err
}

// hashID returns the ID of a plan, with or without prose. Steps have a separate form for this, which is
// faster than JSON, because there are many. Prose is the reasons of steps, and the sentences and
// commands about what is left.
func (p *Plan) hashID(withProse bool) (string, error) {
	named := *p
	named.ID, named.Hash, named.Left, named.Steps = "", "", nil, nil
	h := hasher{sha256.New()}
	e := json.NewEncoder(h)
	e.SetEscapeHTML(false)
	if err := e.Encode(&named); err != nil {
		return "", fmt.Errorf("plan: %w", err)
	}
	for _, f := range p.Left {
		h.add(f.Code, f.Severity, f.Actor, f.Scope, len(f.Numbers), f.Numbers, f.Since.UTC(), f.BalancerActsAt.UTC())
		if withProse {
			h.add(f.Sentence, len(f.Commands), f.Commands)
		}
	}
	var form []byte
	for _, s := range p.Steps {
		if !withProse {
			s.Why = ""
		}
		form = s.appendHashInput(form[:0])
		h.Write(form) // never fails
	}
	return "plan-" + h.hexDigits(12), nil
}

// appendHashInput appends a form of the step that is different for different steps.
func (s Step) appendHashInput(to []byte) []byte {
	for _, n := range []int64{
		int64(s.Number), int64(s.Round), int64(s.Start), int64(s.Takes), int64(s.Chunks), s.Bytes, s.Documents,
		int64(len(s.Points)), boolToInt(s.ForceJumbo),
	} {
		to = binary.AppendVarint(to, n)
	}
	for _, text := range []string{
		string(s.Kind), s.Namespace, string(s.From), string(s.To), string(s.Reason), s.Why,
	} {
		to = append(binary.AppendUvarint(to, uint64(len(text))), text...)
	}
	to = appendKey(appendKey(to, s.Min), s.Max)
	for _, k := range s.Points {
		to = appendKey(to, k)
	}
	if s.KnownRange != nil {
		to = appendKey(appendKey(to, s.KnownRange.Min), s.KnownRange.Max)
	}
	return to
}

// appendKey appends a key with the types of its values, which the key's order does not contain.
func appendKey(to []byte, k catalog.Key) []byte {
	for _, v := range k.Values() {
		to = append(to, byte(v.Type))
		to = append(binary.AppendUvarint(to, uint64(len(v.Value))), v.Value...)
	}
	return append(to, math.MaxUint8)
}

func boolToInt(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
