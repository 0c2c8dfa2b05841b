package codex

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// scopeSetting is npm's setting of a registry for the packages of one scope; it goes before the
// general one.
const scopeSetting = "@openai:registry"

// registry is where packages come from.
type registry struct {
	// base ends with a slash.
	base *url.URL
	// from says who named it.
	from string
	// auth is the Authorization header for base's origin, or empty.
	auth string
}

// registry returns the registry to use for r: the one that the environment names, else the one
// that the npm client is set to, else the one in RegistryFile.
func (f Finder) registry(ctx context.Context, w Want, r release) (registry, error) {
	address, from := f.registryAddress(ctx, w.Workspace)
	if address == "" {
		return registry{}, fault.New(fault.Request,
			"set NPM_CONFIG_REGISTRY to your npm registry, or name an installed Codex with codex-bin",
			"install Codex %s: no npm client and no variable says which registry to use", r.version)
	}
	base, err := parseRegistry(address)
	if err != nil {
		return registry{}, fault.New(fault.Request, "correct it: https://HOST/PATH/, without user, query or fragment",
			"read the npm registry from %s: %w", from, err)
	}
	if base.Scheme != "https" && !isLoopback(base.Hostname()) && !r.locked() {
		return registry{}, fault.New(fault.Request, "use https, or codex-version "+Pinned()+", whose integrity is known here",
			"install Codex %s from %s: on plain http anybody can change a version that the lock file does not name", r.version, base.Redacted())
	}
	reg := registry{base: base, from: from}
	if base.Scheme == "https" || isLoopback(base.Hostname()) {
		reg.auth = f.authorization(base.Host+base.Path, w.Workspace)
	}
	return reg, nil
}

func (f Finder) registryAddress(ctx context.Context, workspace string) (address, from string) {
	for _, name := range []string{"NPM_CONFIG_REGISTRY", "npm_config_registry"} {
		if v := strings.TrimSpace(f.Getenv(name)); v != "" {
			return v, name
		}
	}
	settings, ok := f.npmSettings(ctx, workspace, "registry", scopeSetting)
	for _, name := range []string{scopeSetting, "registry"} {
		if ok && settings[name] != "" {
			return settings[name], "npm's setting " + name
		}
	}
	if f.RegistryFile == "" {
		return "", ""
	}
	data, err := os.ReadFile(f.RegistryFile)
	if err != nil {
		return "", ""
	}
	return strings.TrimSpace(string(data)), f.RegistryFile
}

func parseRegistry(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		// Not the address: it may hold a password.
		return nil, errNotURL
	}
	plain := u.Scheme == "https" || u.Scheme == "http"
	if !plain || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return nil, errNotURL
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
		u.RawPath = ""
	}
	return u, nil
}

var errNotURL = errors.New("it is not the URL of a registry")

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// sameOrigin compares scheme, host and port (RFC 6454, section 5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// trusted says whether packages may be fetched from u: from the registry itself, or from
// elsewhere only on https.
func (r registry) trusted(u *url.URL) bool {
	return u.User == nil && (sameOrigin(u, r.base) || u.Scheme == "https" && u.Host != "")
}
