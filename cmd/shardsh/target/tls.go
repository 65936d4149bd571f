package target

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"shardsh/cmd/shardsh/cmdline"
)

// tlsOptions are the --tls options.
type tlsOptions struct {
	enabled                  cmdline.OptionalBool
	allowInvalidCertificates cmdline.OptionalBool
	allowInvalidHostnames    cmdline.OptionalBool
	useSystemCA              cmdline.OptionalBool
	caFile                   string
	keyFile                  string
	keyPassword              cmdline.Password
	crlFile                  string
	disabledProtocols        string
}

// isSet reports whether any of the options was used.
func (o tlsOptions) isSet() bool {
	return o.enabled.Given || o.disabledProtocols != "" || o.keyPassword.Given || len(o.parameters()) > 0 ||
		o.useSystemCA.Given
}

func (o tlsOptions) check() error {
	if o.enabled.Given && !o.enabled.On {
		alone := o
		alone.enabled = cmdline.OptionalBool{}
		if alone.isSet() {
			return cmdline.Usagef("--tls=false and other --tls options exclude each other")
		}
	}
	for _, f := range []struct{ option, path string }{
		{"--tlsCAFile", o.caFile}, {"--tlsCertificateKeyFile", o.keyFile}, {"--tlsCRLFile", o.crlFile},
	} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			return cmdline.Usagef("%s: %w", f.option, err)
		}
	}
	_, _, err := tlsVersionRange(o.disabledProtocols)
	return err
}

// parameters returns the parameters of the connection string. They do not include the password of the
// key, which is used only to decrypt the key. Each parameter enables TLS.
func (o tlsOptions) parameters() []parameter {
	var list []parameter
	for _, p := range []struct {
		name   string
		choice cmdline.OptionalBool
	}{
		{"tlsAllowInvalidCertificates", o.allowInvalidCertificates}, {"tlsAllowInvalidHostnames", o.allowInvalidHostnames},
	} {
		if p.choice.Given {
			list = append(list, parameter{p.name, strconv.FormatBool(p.choice.On)})
		}
	}
	for _, p := range []parameter{{"tlsCAFile", o.caFile}, {"tlsCertificateKeyFile", o.keyFile},
		{"tlsCRLFile", o.crlFile}} {
		if p.value != "" {
			list = append(list, p)
		}
	}
	switch {
	case o.enabled.Given:
		list = append(list, parameter{"tls", strconv.FormatBool(o.enabled.On)})
	case len(list) > 0 || o.disabledProtocols != "" || o.useSystemCA.On:
		list = append(list, parameter{"tls", "true"})
	}
	return list
}

// tlsVersionNames are the names for --tlsDisabledProtocols.
var tlsVersionNames = []string{"TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"}

// tlsVersionRange returns the minimum and maximum version that the list allows. As everywhere in Go,
// TLS 1.0 and 1.1 are disabled by default.
func tlsVersionRange(disabled string) (least, greatest uint16, err error) {
	off := make(map[string]bool)
	for name := range strings.SplitSeq(disabled, ",") {
		name = strings.TrimSpace(name)
		if name == "" || strings.EqualFold(name, "none") {
			continue
		}
		if !slices.Contains(tlsVersionNames, name) {
			return 0, 0, cmdline.Usagef("--tlsDisabledProtocols takes %s, not %q", strings.Join(tlsVersionNames, ","), name)
		}
		off[name] = true
	}
	switch {
	case off["TLS1_2"] && off["TLS1_3"]:
		return 0, 0, cmdline.Usagef("--tlsDisabledProtocols leaves no protocol: TLS 1.0 and 1.1 are always off")
	case off["TLS1_2"]:
		return tls.VersionTLS13, tls.VersionTLS13, nil
	case off["TLS1_3"]:
		return tls.VersionTLS12, tls.VersionTLS12, nil
	}
	return tls.VersionTLS12, tls.VersionTLS13, nil
}

// CipherSuites returns the cipher suites of TLS 1.2 with forward secrecy and authenticated encryption.
// All cipher suites of TLS 1.3 have both.
func CipherSuites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}

// tlsChecks are checks that the driver's options do not support, from parameters that the driver does
// not know.
type tlsChecks struct {
	allowInvalidCertificates bool
	allowInvalidHostnames    bool
	crlFile                  string
}

// takeTLSChecks removes these parameters from the connection string.
func takeTLSChecks(c *ConnectionString) (tlsChecks, error) {
	var checks tlsChecks
	for name, where := range map[string]*bool{
		"tlsAllowInvalidCertificates": &checks.allowInvalidCertificates,
		"tlsAllowInvalidHostnames":    &checks.allowInvalidHostnames,
	} {
		value, ok := c.get(name)
		if !ok {
			continue
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return checks, cmdline.Usagef("%s takes true or false, not %q", name, value)
		}
		*where = on
		c.drop(name)
	}
	checks.crlFile, _ = c.get("tlsCRLFile")
	c.drop("tlsCRLFile")
	return checks, nil
}

// configure changes the driver's TLS configuration; config is nil when TLS is disabled.
func (o tlsOptions) configure(config *tls.Config, checks tlsChecks) error {
	if config == nil {
		return nil
	}
	var err error
	if config.MinVersion, config.MaxVersion, err = tlsVersionRange(o.disabledProtocols); err != nil {
		return err
	}
	config.CipherSuites = CipherSuites()
	if o.useSystemCA.On && o.caFile != "" {
		if err := addSystemRoots(config, o.caFile); err != nil {
			return err
		}
	}
	if checks.allowInvalidCertificates {
		config.InsecureSkipVerify = true
	}
	if config.InsecureSkipVerify {
		return nil
	}
	var revoked *revocations
	if checks.crlFile != "" {
		if revoked, err = readRevocations(checks.crlFile); err != nil {
			return cmdline.Usagef("--tlsCRLFile: %w", err)
		}
	}
	roots := config.RootCAs
	switch {
	case checks.allowInvalidHostnames:
		// crypto/tls checks all or nothing: this checks all but the name.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error {
			chains, err := verifyChain(state.PeerCertificates, roots)
			if err != nil {
				return err
			}
			return revoked.check(chains)
		}
	case revoked != nil:
		config.VerifyConnection = func(state tls.ConnectionState) error { return revoked.check(state.VerifiedChains) }
	}
	return nil
}

func addSystemRoots(config *tls.Config, caFile string) error {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("--tlsUseSystemCA: %w", err)
	}
	data, err := os.ReadFile(caFile)
	if err != nil {
		return cmdline.Usagef("--tlsCAFile: %w", err)
	}
	roots.AppendCertsFromPEM(data)
	config.RootCAs = roots
	return nil
}

func verifyChain(certs []*x509.Certificate, roots *x509.CertPool) ([][]*x509.Certificate, error) {
	if len(certs) == 0 {
		return nil, errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	return certs[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
}

// revokedCertificateError is the error for a certificate that --tlsCRLFile has revoked.
type revokedCertificateError struct{ error }

// revocations are the revocation lists in a --tlsCRLFile, by the issuer's name.
type revocations struct {
	byIssuer map[string]*x509.RevocationList
	now      func() time.Time
}

// readRevocations reads PEM blocks, or one list in DER.
func readRevocations(path string) (*revocations, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &revocations{byIssuer: make(map[string]*x509.RevocationList), now: time.Now}
	lists := [][]byte{}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "X509 CRL" {
			lists = append(lists, block.Bytes)
		}
	}
	if len(lists) == 0 {
		lists = append(lists, data)
	}
	for _, der := range lists {
		list, err := x509.ParseRevocationList(der)
		if err != nil {
			return nil, fmt.Errorf("%s holds no certificate revocation list: %w", path, err)
		}
		r.byIssuer[string(list.RawIssuer)] = list
	}
	return r, nil
}

// check returns an error unless one of the chains has no revoked certificates. As in OpenSSL, every
// issuer needs a list that is current. A nil receiver checks nothing.
func (r *revocations) check(chains [][]*x509.Certificate) error {
	if r == nil {
		return nil
	}
	var err error
	for _, chain := range chains {
		if err = r.checkChain(chain); err == nil {
			return nil
		}
	}
	return revokedCertificateError{err}
}

func (r *revocations) checkChain(chain []*x509.Certificate) error {
	for i, cert := range chain[:max(0, len(chain)-1)] {
		issuer := chain[i+1]
		list := r.byIssuer[string(issuer.RawSubject)]
		if list == nil {
			return fmt.Errorf("--tlsCRLFile has no list of %s", issuer.Subject)
		}
		if err := list.CheckSignatureFrom(issuer); err != nil {
			return fmt.Errorf("--tlsCRLFile: the list of %s: %w", issuer.Subject, err)
		}
		if !list.NextUpdate.IsZero() && r.now().After(list.NextUpdate) {
			return fmt.Errorf("--tlsCRLFile: the list of %s expired on %s", issuer.Subject, list.NextUpdate.Format(time.RFC3339))
		}
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(cert.SerialNumber) == 0 {
				return fmt.Errorf("the certificate of %s is revoked", cert.Subject)
			}
		}
	}
	return nil
}
