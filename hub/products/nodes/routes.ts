import { pipeline } from 'node:stream/promises';
import { artifacts as artifactsResource } from '../../../shared/contract/nodes/artifacts.ts';
import { nodes as nodesResource } from '../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../shared/errors.ts';
import type { PartialBlobs } from '../../platform/blobs/partial-blobs.ts';
import { actorOf, runCallerOf } from '../../platform/http/auth/principal.ts';
import { readerStallMs } from '../../platform/http/live/event-stream.ts';
import { implementLongPoll } from '../../platform/http/live/long-polls.ts';
import type { WaitingRequest } from '../../platform/http/live/long-polls.ts';
import { mediaType, readChunks } from '../../platform/http/routing/body.ts';
import { implement } from '../../platform/http/routing/implement.ts';
import type { RawExchange } from '../../platform/http/routing/implement.ts';
import { setNearestLimitHeaders } from '../../platform/http/routing/limited-calls.ts';
import type { ArtifactContent, ArtifactQuota, ArtifactUploads, Artifacts, Thumbnails } from './artifacts/index.ts';
import type { PollResult, WaitingPoll } from './commands/index.ts';
import type { DevicePolls } from './connections/index.ts';
import type { Devices, NodeHistory } from './devices/index.ts';
import { maxMultipartBytes, readMultipartResult } from './results/index.ts';
import type { CommandResults } from './results/index.ts';
import type { Nodes } from './service.ts';

export interface NodeServices {
  nodes: Nodes;
  devices: Devices;
  polls: DevicePolls;
  history: NodeHistory;
  results: CommandResults;
  uploads: ArtifactUploads;
  quota: ArtifactQuota;
  partials: PartialBlobs;
}

export const nodeRoutes = ({ nodes, devices, polls, history, results, uploads, quota, partials }: NodeServices) =>
  implement(
    nodesResource,
    {
      listAutomationNodes: ({ principal, query }) => nodes.list(principal.tenantId, query),
      async createAutomationNode({ principal, body, baseUrl }) {
        const { actor, environment } = runCallerOf(principal);
        if (environment === 'test' && (body.allowSystem || body.allowBrowser))
          throw new AppError(
            'test_key_not_allowed',
            "A key of environment test can't allow commands on a machine. Leave out allowSystem and allowBrowser, use a live key, or sign in.",
          );
        return nodes.createPairing(principal.tenantId, body, baseUrl, actor);
      },
      claimAutomationNode: ({ body, address, raw: { response } }) =>
        devices.claim(body, address, (state) => setNearestLimitHeaders(state, response)),
      proveAutomationHub: ({ params, body, baseUrl }) => devices.proveHub(params.id, body, baseUrl),
      getAutomationNode: ({ principal, params }) => nodes.get(principal.tenantId, params.id),
      updateAutomationNode: ({ principal, params, body }) =>
        nodes.update(principal.tenantId, params.id, body, actorOf(principal)),
      deleteAutomationNode: ({ principal, params }) => nodes.revoke(principal.tenantId, params.id, actorOf(principal)),
      unpairAutomationNode: ({ principal, params }) => nodes.revoke(principal.tenantId, params.id, actorOf(principal)),
      listAutomationNodeCommands: ({ principal, params, query }) =>
        history.commands(principal.tenantId, params.id, query),
      listAutomationNodeFacts: ({ principal, params, query }) => history.facts(principal.tenantId, params.id, query),
      heartbeatAutomationNode: ({ principal, body }) => devices.heartbeat(principal, body),
      async pollAutomationNodeCommands({ principal, query, signal, raw: { request, response } }) {
        // A HEAD response has no body, so the hub must not lease commands for it.
        const effectiveQuery = request.method === 'HEAD' ? { ...query, max: 0 } : query;
        const { secretHash } = principal;
        const context = { secretHash, isConfirmed: true, idleState: null };
        const result = await polls.poll(principal, effectiveQuery, signal, context);
        if (result.leases.length > 0) onSendFailure(response, () => polls.returnLeases(principal, result));
        return result.response;
      },
      async completeAutomationNodeCommand({
        principal,
        params,
        body,
        signal,
        confirm,
        recheck,
        incomingMemory,
        bodyMemory,
        raw,
      }) {
        const { request } = raw;
        const confirmed = confirm();
        if (mediaType(request) !== 'multipart/form-data') {
          // The artifacts are written before the result, so the device must be authenticated first.
          if ((body.artifacts ?? []).length > 0 || (body.uploads ?? []).length > 0) await confirmed;
          return results.complete(principal, params.commandId, body, [], confirmed);
        }
        await confirmed;
        const ended = await results.finalStatus(principal, params.commandId);
        if (ended !== null) return { id: params.commandId, status: ended, recorded: false };
        const declaredBytes = Number(request.headers['content-length'] ?? maxMultipartBytes);
        if (declaredBytes > maxMultipartBytes)
          throw new AppError('payload_too_large', `The body has more than ${maxMultipartBytes} bytes.`);
        using _reservation = quota.reserve(principal.tenantId, declaredBytes);
        await using upload = await readMultipartResult(
          request.headers,
          uploads.passMultipart(principal, params.commandId, readChunks(request, signal)),
          partials,
          { incoming: incomingMemory, parsed: bodyMemory },
        );
        await recheck();
        return await results.complete(principal, params.commandId, upload.result, upload.files);
      },
      readAutomationNodeUpload: ({ principal, params }) => uploads.state(principal, params.commandId, params.name),
      uploadAutomationNodeArtifact: ({ principal, params, query, signal, recheck, raw: { request } }) =>
        uploads.receive(principal, params.commandId, params.name, query, readChunks(request, signal), recheck),
    },
    { confirmsCaller: ['heartbeatAutomationNode', 'completeAutomationNodeCommand'] },
  );

/** The long-poll endpoint that devices without a channel use. */
export const pollRoute = (polls: DevicePolls) => {
  const callbacks = {
    answered({ to, request: { device } }: WaitingPoll<WaitingRequest>, result: PollResult) {
      to.send(result.response, result.leases.length === 0 ? undefined : () => polls.returnLeases(device, result));
    },
    failed: ({ to }: WaitingPoll<WaitingRequest>, error: unknown) => to.fail(error),
  };
  return implementLongPoll<typeof nodesResource.pollAutomationNodeCommands, WaitingPoll<WaitingRequest>>({
    operation: nodesResource.pollAutomationNodeCommands,
    begin: ({ principal, isConfirmed, query }, request) =>
      polls.begin(
        principal,
        query,
        { secretHash: principal.secretHash, isConfirmed, idleState: null },
        callbacks,
        request,
      ),
    end: (poll) => polls.end(poll),
  });
};

/** Calls `undo` when the hub did not send the complete 200 response. */
function onSendFailure(response: RawExchange['response'], undo: () => void): void {
  if (response.destroyed) {
    undo();
    return;
  }
  response.once('close', () => {
    if (!response.writableFinished || response.statusCode !== 200) undo();
  });
}

/**
 * Returns the byte range that a request selects in a file of `bytes` bytes.
 * Returns null (the whole file) for several ranges or an invalid `Range` header.
 * @throws AppError `range_not_satisfiable`.
 */
function rangeOf(request: RawExchange['request'], bytes: number): { start: number; end: number } | null {
  const ranges = request.range(bytes);
  if (ranges === -1)
    throw new AppError('range_not_satisfiable', `The artifact has ${bytes} bytes.`, {
      headers: { 'Content-Range': `bytes */${bytes}` },
    });
  const [range] = Array.isArray(ranges) && ranges.type === 'bytes' && ranges.length === 1 ? ranges : [];
  return range ?? null;
}

export const artifactRoutes = (artifacts: Artifacts, thumbnails: Thumbnails) =>
  implement(artifactsResource, {
    async getAutomationArtifact({ principal, params, query, signal, accessRevoked, raw }) {
      const artifact = await artifacts.find(principal.tenantId, params.id);
      const wanted =
        query.w === undefined
          ? artifact
          : await thumbnails.reduce(principal.tenantId, artifact, Number(query.w), signal);
      return sendArtifact(wanted, raw, accessRevoked);
    },
    readAutomationCommandFile: async ({ principal, params, accessRevoked, raw }) =>
      sendArtifact(await artifacts.findForCommand(principal, params.commandId, params.artifactId), raw, accessRevoked),
  });

async function sendArtifact(
  artifact: ArtifactContent,
  { request, response }: RawExchange,
  accessRevoked: AbortSignal,
): Promise<undefined> {
  const range = rangeOf(request, artifact.bytes);
  // A browser must not run an artifact as a page of this hub.
  response.attachment(artifact.name);
  response.set({
    'Content-Type': artifact.contentType,
    'Content-Length': String(range === null ? artifact.bytes : range.end - range.start + 1),
    'X-Content-Type-Options': 'nosniff',
    'Accept-Ranges': 'bytes',
    // The browser asks each time, so that it shows nothing of the cache after the user has signed out.
    'Cache-Control': 'private, no-cache',
    ETag: `"${artifact.sha256}"`,
    ...(range === null ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${artifact.bytes}` }),
  });
  response.status(range === null ? 200 : 206);
  if (range === null && request.fresh) {
    response.status(304).removeHeader('Content-Length');
    response.end();
    return undefined;
  }
  if (request.method === 'HEAD') {
    response.end();
    return undefined;
  }
  // Without a `timeout` listener, Node.js destroys the connection of a client that stops reading.
  response.setTimeout(readerStallMs);
  await pipeline(await artifact.open(range ?? undefined), response, { signal: accessRevoked }).catch(
    (error: unknown) => {
      // The client disconnected, so there is no error to report.
      if (!response.destroyed) throw error;
    },
  );
  return undefined;
}
