package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/recibo-ci/recibo/pkg/artifact"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/gateway"
)

// uploadTime bounds the upload; the runner gives a cancelled step no time for one.
const uploadTime = 5 * time.Minute

// uploaded is the artifact, as the outputs tell it.
type uploaded struct{ id, url string }

// upload keeps recibo's own files as an artifact of the run. Everything is on disk by then: what
// fails here loses nothing, and a rerun may mend it.
func (r *reviewing) upload(ctx context.Context) error {
	if !r.opt.upload || !r.facts.Actions || ctx.Err() != nil {
		return nil
	}
	service, err := artifact.Open(artifact.Config{
		ResultsURL: r.world.getenv("ACTIONS_RESULTS_URL"), Token: r.world.getenv("ACTIONS_RUNTIME_TOKEN"),
		Proxy: gateway.EnvironmentProxy(r.world.getenv), Mask: r.log.Mask,
	})
	var up artifact.Uploaded
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, uploadTime)
		defer cancel()
		up, err = service.Upload(ctx, artifact.Upload{Name: r.artifactName(), Root: r.place.root, Files: r.artifactFiles()})
	}
	if errors.Is(err, artifact.ErrUnavailable) {
		r.warn("no artifact was uploaded (" + err.Error() + "); the files are in the workspace")
		return nil
	}
	if err != nil {
		return fault.New(fault.Remote, cmp.Or(fault.HintOf(err), "run the job again; review and receipt are in the workspace"), "upload the artifact: %w", err)
	}
	r.uploaded = uploaded{strconv.FormatInt(up.ID, 10), artifact.URL(r.facts.ServerURL, r.facts.Repository, r.facts.RunID, up.ID)}
	r.log.Printf("artifact %s: %d bytes, %s", up.Name, up.Size, r.uploaded.url)
	return nil
}

// artifactName is recibo-JOB-ATTEMPT. Where a matrix makes several jobs of one name, the service's
// answer decides on a suffix.
func (r *reviewing) artifactName() string {
	if r.opt.artifactName != "" {
		return r.opt.artifactName
	}
	return fmt.Sprintf("recibo-%s-%d", cmp.Or(r.facts.Job, "job"), max(r.facts.RunAttempt, 1))
}

// artifactFiles are the files that this run wrote, by their roles' names, and nothing else of the
// workspace.
func (r *reviewing) artifactFiles() []artifact.File {
	var files []artifact.File
	add := func(name, written string) {
		// Only files of the workspace: what somebody asked to have elsewhere is theirs to keep.
		rel, err := filepath.Rel(r.place.root, r.path(written))
		if written != "" && err == nil && filepath.IsLocal(rel) {
			files = append(files, artifact.File{Name: name, Path: rel})
		}
	}
	rec := r.receipt
	add("usage.json", r.usageFile())
	add("review.json", string(rec.Review.Path))
	add("wire.jsonl", string(rec.Wire.Path))
	add("prompt.resolved.md", string(rec.Prompt.SavedPath))
	for _, f := range rec.Run.Files {
		add(path.Base(f.Path), f.Path)
	}
	return files
}
