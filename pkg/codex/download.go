package codex

import (
	"bufio"
	"context"
	"crypto/sha512"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Bounds of a download: of one version's document and of all versions' in bytes, of a silence in
// the middle of a package.
const (
	versionDocMax = 4 << 20
	packumentMax  = 256 << 20
	longestStall  = time.Minute
	progressStep  = 1 << 20
)

// packageDist is what a registry says about one package: where its tarball is, and its SHA-512.
type packageDist struct {
	tarball *url.URL
	sum     tarballSum
}

// dist asks the registry for r's package.
func (c *registryClient) dist(ctx context.Context, r release) (packageDist, error) {
	var doc versionDocument
	err := c.document(ctx, "/"+r.id(), versionDocMax, &doc)
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		// npm itself only ever asks for all versions; some registries know no other question.
		doc, err = c.fromPackument(ctx, r)
	}
	if err != nil {
		return packageDist{}, c.explain(r, err)
	}
	d, err := doc.dist(c.registry, r)
	if err != nil {
		return packageDist{}, fault.New(fault.Review, "look at the registry: it does not answer as npm's do",
			"read what the registry says about Codex %s: %w", r.id(), err)
	}
	return d, nil
}

func (c *registryClient) fromPackument(ctx context.Context, r release) (versionDocument, error) {
	var all struct {
		Versions map[string]versionDocument `json:"versions"`
	}
	if err := c.document(ctx, "", packumentMax, &all); err != nil {
		return versionDocument{}, err
	}
	doc, ok := all.Versions[r.id()]
	if !ok {
		return versionDocument{}, errNoVersion
	}
	return doc, nil
}

var errNoVersion = errors.New("the registry has no such version")

// document reads a JSON document about the package.
func (c *registryClient) document(ctx context.Context, suffix string, limit int64, into any) error {
	u := *c.base
	u.Path += packageName + suffix
	// The slash of the scope is part of the name (npm's registry API).
	u.RawPath = c.base.EscapedPath() + "@openai%2fcodex" + suffix
	return c.retry(ctx, func() error {
		resp, err := c.get(ctx, &u, "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
		if err != nil {
			return &passingError{err: err}
		}
		if int64(len(data)) > limit {
			return fmt.Errorf("get %s: over %d bytes", u.Redacted(), limit)
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("get %s: %w, but %q: %w", u.Redacted(), errNotRegistry, resp.Header.Get("Content-Type"), err)
		}
		return nil
	})
}

// versionDocument is the part that matters here of npm's document about one version.
type versionDocument struct {
	Name, Version string
	Dist          struct{ Tarball, Integrity string }
}

// dist checks the document against what was asked for.
func (d versionDocument) dist(reg registry, r release) (packageDist, error) {
	if d.Name != packageName || d.Version != r.id() {
		return packageDist{}, fmt.Errorf("it answers for %.80q %.80q", d.Name, d.Version)
	}
	u, err := reg.base.Parse(d.Dist.Tarball)
	if err != nil || d.Dist.Tarball == "" {
		return packageDist{}, errors.New("it names no tarball")
	}
	if !reg.trusted(u) {
		return packageDist{}, fmt.Errorf("tarball %s: %w", u.Redacted(), errRefused)
	}
	// Metadata cannot speak against the lock file, and need not speak for it.
	if r.locked() {
		return packageDist{tarball: u, sum: r.pinned}, nil
	}
	sum, err := parseTarballSum(d.Dist.Integrity)
	if err != nil {
		return packageDist{}, err
	}
	return packageDist{tarball: u, sum: sum}, nil
}

// fetch downloads r's tarball into a directory that makeDir makes, a new one each try, and
// returns the last one and what it holds: files of a tarball that has the sum d asks for.
func (c *registryClient) fetch(ctx context.Context, r release, d packageDist, makeDir func() (string, error)) (dir string, files []entryFile, err error) {
	for _, u := range c.places(r, d) {
		err = c.retry(ctx, func() error {
			if dir, err = makeDir(); err != nil {
				return err
			}
			files, err = c.fetchOnce(ctx, u, d.sum, unpackTo{dir: dir, triple: tripleOf(r.platform)})
			return err
		})
		if status := statusOf(err); !errors.Is(err, errNotRegistry) && (status < 400 || status > 499) {
			break
		}
	}
	if err != nil {
		return "", nil, c.explain(r, err)
	}
	return dir, files, nil
}

// places are the URLs to try for the tarball. A mirror may hand on another registry's document
// unchanged, whose tarball is then out of reach: so the mirror's own, at the path that all npm
// registries use, goes first.
func (c *registryClient) places(r release, d packageDist) []*url.URL {
	if sameOrigin(d.tarball, c.base) {
		return []*url.URL{d.tarball}
	}
	own := *c.base
	own.Path += packageName + "/-/codex-" + r.id() + ".tgz"
	own.RawPath = ""
	return []*url.URL{&own, d.tarball}
}

var (
	errNotRegistry = errors.New("not what an npm registry answers")
	errStalled     = errors.New("the registry fell silent")
)

// sumError is a whole tarball that is not the one asked for.
type sumError struct{ want, got tarballSum }

func (e *sumError) Error() string {
	return fmt.Sprintf("its integrity is %s, want %s", e.got, e.want)
}

// fetchOnce receives, hashes and unpacks the tarball at u, all at once. Whatever was written is
// worth something only when it returns nil.
func (c *registryClient) fetchOnce(ctx context.Context, u *url.URL, want tarballSum, to unpackTo) ([]entryFile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(longestStall, func() { cancel(errStalled) })
	defer watch.Stop()
	resp, err := c.get(ctx, u, "application/octet-stream, */*; q=0.5")
	if err != nil {
		return nil, stalledOr(ctx, err)
	}
	defer resp.Body.Close()
	body := &arrival{r: resp.Body, total: resp.ContentLength, tell: c.Progress, alive: func() { watch.Reset(longestStall) }}
	head := bufio.NewReader(body)
	// RFC 1952, section 2.3.1.
	if magic, err := head.Peek(2); err == nil && string(magic) != "\x1f\x8b" {
		return nil, fmt.Errorf("get %s: %w, but %q", u.Redacted(), errNotRegistry, resp.Header.Get("Content-Type"))
	}
	hash := sha512.New()
	raw := readAhead(io.TeeReader(head, hash))
	// Before the goroutine is waited for: it may be in the middle of a Read.
	defer func() { cancel(nil); raw.Close() }()
	files, unpackErr := unpackTarball(raw, to)
	if _, ok := errors.AsType[*fs.PathError](unpackErr); ok {
		return nil, unpackErr
	}
	// The rest, so that a tarball that does not unpack is told from one that is not the one.
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return nil, stalledOr(ctx, &passingError{err: fmt.Errorf("get %s: %w", u.Redacted(), err)})
	}
	body.finish()
	if got := tarballSum(hash.Sum(nil)); got != want {
		return nil, &sumError{want: want, got: got}
	}
	return files, unpackErr
}

// stalledOr is err, or a *passingError when it came of a silence.
func stalledOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return &passingError{err: errStalled}
	}
	return err
}

// arrival counts what comes, tells how far it is, and fails when it is too much.
type arrival struct {
	r          io.Reader
	total      int64
	tell       func(done, total int64)
	alive      func()
	done, told int64
}

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.alive()
	a.done += int64(n)
	if a.done > tarballMax {
		return 0, errTooMuch
	}
	if a.done == int64(n) || a.done-a.told >= progressStep {
		a.report()
	}
	return n, err
}

func (a *arrival) report() {
	a.told = a.done
	if a.tell != nil {
		a.tell(a.done, a.total)
	}
}

// finish tells the last of it, once the reading goroutine is through.
func (a *arrival) finish() {
	if a.told != a.done {
		a.report()
	}
}

// explain adds whose the error is and what to do.
func (c *registryClient) explain(r release, err error) error {
	where := "the registry " + c.base.Redacted() + " (from " + c.from + ")"
	fail := func(k fault.Kind, hint string) error {
		return fault.New(k, hint, "install Codex %s from %s: %w", r.id(), where, err)
	}
	var (
		cert *tls.CertificateVerificationError
		path *fs.PathError
		sum  *sumError
	)
	switch status := statusOf(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fail(fault.Request, "give npm's settings a token for it: //"+c.base.Host+c.base.Path+":_authToken=${NPM_TOKEN}")
	case (errors.Is(err, errNoVersion) || status == http.StatusNotFound) && r.locked():
		return fail(fault.Request, "let that registry have "+packageName+" "+r.version+", or name an installed Codex with codex-bin")
	case errors.Is(err, errNoVersion) || status == http.StatusNotFound:
		return fail(fault.Request, "use a released version, such as "+Pinned()+", the one this recibo is made for")
	case errors.As(err, &sum) && r.locked():
		return fail(fault.Request, "it does not serve what this recibo's lock file names: use another registry, and do not trust this one")
	case errors.As(err, &sum):
		return fail(fault.Request, "it does not serve what its own metadata names: use another registry, or clear its cache")
	case errors.Is(err, errNotRegistry):
		return fail(fault.Request, "a proxy or a login page may stand in between: look at what that address answers")
	case errors.Is(err, errRefused):
		return fail(fault.Request, "use a registry that serves its packages itself, or over https")
	case errors.As(err, &cert):
		return fail(fault.Request, "name your certificate authorities with NODE_EXTRA_CA_CERTS or SSL_CERT_FILE")
	case errors.As(err, &path):
		return diskFault(c.CacheDir, err)
	}
	return fail(fault.Review, "look at the network, HTTPS_PROXY and the registry, then run again")
}
