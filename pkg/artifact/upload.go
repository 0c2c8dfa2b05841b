package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	// retentionMax is the longest that GitHub lets any repository ask for, in days.
	retentionMax = 400
	// filesMax and uploadMax bound what goes into one artifact.
	filesMax  = 1000
	uploadMax = 2 << 30
)

// Upload says what to keep, and under which name.
type Upload struct {
	// Name is the artifact's, as CheckName wants it.
	Name string
	// Root is the directory that the files' paths are below.
	Root string
	// Files go in, and nothing else.
	Files []File
	// RetentionDays is how long the artifact is kept; 0 leaves it to the repository's settings, and
	// the service shortens what is over them.
	RetentionDays int
	// Limit bounds the files' content in bytes; 0 is 2 GiB.
	Limit int64
}

// Uploaded is an artifact that the service has confirmed.
type Uploaded struct {
	ID int64
	// Name is the one it got: with a suffix, where the run already had one of the name asked for.
	Name string
	// SHA and Size are those of the zip, in bytes.
	SHA  digest.SHA256
	Size int64
}

// Upload keeps the files as a zip. The same files give the same zip. Errors are fault.Request for
// what was asked, fault.Remote for what the service could not do, ErrUnavailable where it turns
// out not to be there, and plain for a file that cannot be read; none holds token or signature.
func (s *Service) Upload(ctx context.Context, u Upload) (Uploaded, error) {
	if err := u.check(); err != nil {
		return Uploaded{}, err
	}
	done, err := s.upload(ctx, u.sorted())
	if err != nil {
		return Uploaded{}, fmt.Errorf("upload artifact %q: %w", u.Name, err)
	}
	return done, nil
}

func (s *Service) upload(ctx context.Context, u Upload) (Uploaded, error) {
	name, to, err := s.create(ctx, u)
	if err != nil {
		return Uploaded{}, err
	}
	out := Uploaded{Name: name}
	if out.SHA, out.Size, err = s.send(ctx, to, u); err != nil {
		return Uploaded{}, err
	}
	if out.ID, err = s.finalize(ctx, out); err != nil {
		return Uploaded{}, err
	}
	return out, nil
}

// check refuses what cannot be kept before the service hears of it.
func (u Upload) check() error {
	if err := CheckName(u.Name); err != nil {
		return err
	}
	if u.RetentionDays < 0 || u.RetentionDays > retentionMax {
		return fault.New(fault.Request, fmt.Sprintf("choose 0 to %d days", retentionMax), "keep artifact %q for %d days: out of range", u.Name, u.RetentionDays)
	}
	if len(u.Files) == 0 || len(u.Files) > filesMax {
		return fmt.Errorf("upload artifact %q: %d files, want 1 to %d", u.Name, len(u.Files), filesMax)
	}
	var total int64
	seen := map[string]bool{}
	for _, f := range u.Files {
		if err := checkFileName(f.Name); err != nil {
			return err
		}
		if seen[f.Name] {
			return fmt.Errorf("upload artifact %q: two files named %q", u.Name, f.Name)
		}
		seen[f.Name] = true
		content, size, err := f.open(u.Root)
		if err != nil {
			return fmt.Errorf("upload artifact %q: %w", u.Name, err)
		}
		total += size
		if err := content.Close(); err != nil {
			return err
		}
	}
	if total > u.limit() {
		return fmt.Errorf("upload artifact %q: %d bytes: %w of %d bytes", u.Name, total, disk.ErrTooLarge, u.limit())
	}
	return nil
}

func (u Upload) limit() int64 { return cmp.Or(u.Limit, uploadMax) }

func (u Upload) sorted() Upload {
	u.Files = slices.SortedFunc(slices.Values(u.Files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return u
}

// create announces the artifact and returns the name it got and where its content goes.
//
// 409 says that the run has an artifact of the name. It may be our own, announced by a try whose
// answer was lost; but nothing tells: a request carries nothing that is ours alone, and an
// artifact is listed only once it is finalized. Its address was in the lost answer, and deleting
// it could delete another job's. So the next name is taken, and an announced artifact that nobody
// finalizes is never seen.
func (s *Service) create(ctx context.Context, u Upload) (name string, to *url.URL, err error) {
	in := createRequest{subject: s.backend.subject(), Version: protocol}
	if u.RetentionDays > 0 {
		in.ExpiresAt = s.now().UTC().AddDate(0, 0, u.RetentionDays).Format(time.RFC3339)
	}
	for n := range suffixMax {
		in.Name = suffixed(u.Name, n+1)
		out, _, err := s.call(ctx, "CreateArtifact", in)
		if statusOf(err) == http.StatusConflict {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if err := accepted(out, "CreateArtifact"); err != nil {
			return "", nil, err
		}
		to, err := s.signed(out, "signed_upload_url")
		return in.Name, to, err
	}
	return "", nil, fault.New(fault.Remote, "choose another artifact-name", "CreateArtifact: the run has artifacts of this name up to %q", in.Name)
}

// finalize makes the artifact visible and returns its id. A second finalize after a lost answer is
// refused; whether the first was taken is then read from the list, where job, size and digest
// tell our artifact from any other.
func (s *Service) finalize(ctx context.Context, u Uploaded) (int64, error) {
	in := finalizeRequest{s.backend.subject(), u.Name, u.Size, "sha256:" + u.SHA.String()}
	out, lost, err := s.call(ctx, "FinalizeArtifact", in)
	if err != nil && lost && ctx.Err() == nil {
		return s.confirm(ctx, u, err)
	}
	if err != nil {
		return 0, err
	}
	if err := accepted(out, "FinalizeArtifact"); err != nil {
		return 0, err
	}
	return idOf(out, "artifact_id")
}

func (s *Service) confirm(ctx context.Context, u Uploaded, cause error) (int64, error) {
	found, err := s.list(ctx, u.Name)
	if err != nil {
		return 0, errors.Join(cause, err)
	}
	for _, l := range found {
		if l.backend == s.backend && l.Name == u.Name && l.Size == u.Size && (l.SHA == u.SHA || l.SHA.IsZero()) {
			return l.ID, nil
		}
	}
	return 0, cause
}

func accepted(out answer, method string) error {
	if ok, err := out.yes("ok"); err != nil || !ok {
		return fault.New(fault.Remote, "run the job again", "%s: the service says that it did not work", method)
	}
	return nil
}

func idOf(out answer, field string) (int64, error) {
	id, err := out.number(field)
	if err != nil || id <= 0 {
		return 0, fault.New(fault.Remote, "run the job again", "read %s: the service names no artifact", field)
	}
	return id, nil
}
