export { ArtifactQuota, foldArtifactUsage, maxCommandBytes } from './artifact-quota.ts';
export { Artifacts } from './artifacts.ts';
export type { ArtifactContent } from './artifacts.ts';
export { removeOrphanBlobs } from './orphan-blobs.ts';
export { Thumbnails } from './thumbnails.ts';
export { findVerified, deleteUpload, releaseUploads } from './upload-rows.ts';
export { ArtifactUploads } from './uploads.ts';
