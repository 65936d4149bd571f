package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// authority issues certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	a.cert, _ = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte{1},
	}, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate for a key, by itself as long as there is no other.
func (a *authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	a.t.Helper()
	a.last++
	c.SerialNumber = big.NewInt(a.last)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, der
}

// server returns a certificate for one host.
func (a *authority) server(host string) tls.Certificate {
	c := &x509.Certificate{Subject: pkix.Name{CommonName: host}}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{host}
	}
	key := newKey(a.t)
	_, der := a.sign(c, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) file() string {
	return writePEM(a.t, "ca.pem", &pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// revoking returns a list of revoked certificates, in a file.
func (a *authority) revoking(until time.Time, serials ...int64) string {
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-2 * time.Hour), NextUpdate: until}
	for _, n := range serials {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: big.NewInt(n), RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return writePEM(a.t, "crl.pem", &pem.Block{Type: "X509 CRL", Bytes: der})
}

// client returns a file with a certificate and its key, which a password
// protects unless it is empty.
func (a *authority) client(password string) string {
	key := newKey(a.t)
	_, der := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "client"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, key)
	keyDER, err := x509.MarshalECPrivateKey(key)
	block := &pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}
	if err == nil && password != "" {
		//nolint:staticcheck // an old form, but what the standard library can write, and openssl does
		block, err = x509.EncryptPEMBlock(rand.Reader, block.Type, keyDER, []byte(password), x509.PEMCipherAES256)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return writePEM(a.t, "client.pem", &pem.Block{Type: "CERTIFICATE", Bytes: der}, block)
}

func writePEM(t *testing.T, name string, blocks ...*pem.Block) string {
	t.Helper()
	var text bytes.Buffer
	for _, b := range blocks {
		if err := pem.Encode(&text, b); err != nil {
			t.Fatal(err)
		}
	}
	return writeFile(t, name, text.String())
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	good := ca.server("127.0.0.1")
	elsewhere := ca.server("elsewhere.example")
	clients := x509.NewCertPool()
	clients.AddCert(ca.cert)
	servers := map[string]*tls.Config{
		"good":      {Certificates: []tls.Certificate{good}},
		"elsewhere": {Certificates: []tls.Certificate{elsewhere}},
		"mutual":    {Certificates: []tls.Certificate{good}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert},
		"1.2":       {Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12},
	}
	address := map[string]string{"plain": listen(t, unbalanced)}
	for name, config := range servers {
		address[name] = serve(t, unbalanced, withTLS(config)).address
	}
	trust := []string{"--tls", "--tlsCAFile", ca.file()}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	const plainKey, lockedKey, none = "", "key secret", int64(99)
	tests := []struct {
		name   string
		server string
		args   []string
		stdin  string
		want   string // of the error; empty when it works
	}{
		{"a trusted server", "good", trust, "", ""},
		{"its authority alone turns TLS on", "good", []string{"--tlsCAFile", ca.file()}, "", ""},
		{"old names", "good", []string{"--ssl", "--sslCAFile", ca.file()}, "", ""},
		{"the system's authorities, too", "good", append(trust, "--tlsUseSystemCA"), "", ""},
		{"nobody vouches for it", "good", []string{"--tls"}, "", "unknown authority"},
		{"another authority", "good", []string{"--tls", "--tlsCAFile", other.file()}, "", "certificate"},
		{"any certificate will do", "good", []string{"--tls", "--tlsAllowInvalidCertificates"}, "", ""},
		{"another name", "elsewhere", trust, "", "cannot validate certificate for 127.0.0.1"},
		{"any name will do", "elsewhere", append(trust, "--tlsAllowInvalidHostnames"), "", ""},
		{"any name, but not anybody", "elsewhere", []string{"--tls", "--tlsCAFile", other.file(),
			"--tlsAllowInvalidHostnames"}, "", "certificate"},
		{"TLS to a plain port", "plain", []string{"--tls"}, "", "perhaps it does not use TLS"},
		{"no TLS to a TLS port", "good", nil, "", "perhaps it wants TLS (--tls)"},
		{"nothing is revoked", "good", append(trust, "--tlsCRLFile", ca.revoking(later, none)), "", ""},
		{"revoked", "good", append(trust, "--tlsCRLFile", ca.revoking(later, 2)), "",
			"the certificate of CN=127.0.0.1 is revoked"},
		{"revoked, and any name will do", "elsewhere", append(trust, "--tlsAllowInvalidHostnames", "--tlsCRLFile",
			ca.revoking(later, 3)), "", "is revoked"},
		{"an old list", "good", append(trust, "--tlsCRLFile", ca.revoking(earlier, none)), "", "expired on"},
		{"somebody else's list", "good", append(trust, "--tlsCRLFile", other.revoking(later, none)), "",
			"the list of CN=test authority"},
		{"TLS 1.3 is off", "good", append(trust, "--tlsDisabledProtocols", "TLS1_0,TLS1_1,TLS1_3"), "", ""},
		{"no common version", "1.2", append(trust, "--tlsDisabledProtocols", "TLS1_2"), "", "protocol version"},
		{"our certificate", "mutual", append(trust, "--tlsCertificateKeyFile", ca.client(plainKey)), "", ""},
		{"its password", "mutual", append(trust, "--tlsCertificateKeyFile", ca.client(lockedKey),
			"--tlsCertificateKeyFilePassword", lockedKey), "", ""},
		{"its password is asked for", "mutual", append(trust, "--tlsCertificateKeyFile", ca.client(lockedKey)),
			lockedKey + "\n", ""},
		{"its password is not given", "mutual", append(trust, "--tlsCertificateKeyFile", ca.client(lockedKey)), "",
			"use --tlsCertificateKeyFilePassword"},
		{"a wrong password", "mutual", append(trust, "--tlsCertificateKeyFile", ca.client(lockedKey),
			"--tlsCertificateKeyFilePassword", "wrong one"), "", "--tlsCertificateKeyFile: the password of the key is wrong"},
		{"a parameter of the address", "good", []string{"?tls=true&tlsAllowInvalidCertificates=true"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			where, args := "mongodb://"+address[tt.server]+"/", tt.args
			if strings.Contains(tt.want, "perhaps") {
				where += "?serverSelectionTimeoutMS=300"
			}
			if len(args) > 0 && strings.HasPrefix(args[0], "?") {
				where, args = where+args[0], nil
			}
			began := time.Now()
			code, stdout, stderr := runProgram(t, tt.stdin,
				append(append([]string{where}, args...), "--eval", "db.runCommand({ping: 1}).ok")...)
			if tt.want == "" && (code != exitOK || stdout != "1\n") ||
				tt.want != "" && (code == exitOK || !strings.Contains(stderr, tt.want)) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			// Where trying again might help, the driver does.
			if took := time.Since(began); took > time.Second && !strings.Contains(tt.want, "perhaps") {
				t.Errorf("took %s", took)
			}
			if strings.Contains(stderr, lockedKey) || strings.Contains(stderr, "wrong one") {
				t.Errorf("stderr tells the password: %q", stderr)
			}
		})
	}
}
