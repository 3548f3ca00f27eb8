import { useQuery } from '@tanstack/react-query';
import { Check, LoaderCircle } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { Node } from '../../../../../shared/client/client.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { useNow } from '../../app/now.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { useIsolate } from '../../ui/isolate.ts';
import { LocalTime } from '../../ui/time.tsx';
import { CopyButton } from '../../ui/value.tsx';
import { CommandLine } from './command-line.tsx';
import { PairForm } from './pair-form.tsx';
import type { Pairing } from './pair-form.tsx';
import { hubOf, isInsecure, pairingLine } from './pairing-command.ts';
import { QrCode } from './qr-code.tsx';

function Progress({ isDone, children }: { isDone: boolean; children: ReactNode }) {
  return (
    <p role="status" className={`flex items-center gap-2 font-semibold ${isDone ? 'text-success' : 'text-text-muted'}`}>
      {isDone ? (
        <Check size={18} className="shrink-0" aria-hidden />
      ) : (
        <LoaderCircle size={18} className="shrink-0 animate-[spin_1.2s_linear_infinite]" aria-hidden />
      )}
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  );
}

/** The code in large letters, as a QR code, and within the line to run. */
function Code({ pairing: { pairingCode, pairingUri, expiresAt, powers } }: { pairing: Pairing }) {
  const { start: texts } = useLanguage().words;
  const hub = hubOf(pairingUri);
  const [before = '', after = ''] = texts.codeText.split('{time}');
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-4">
        <div>
          <p className="text-sm text-text-muted">{texts.code}</p>
          <p className="flex items-center gap-2">
            <code
              dir="ltr"
              data-testid="pairing-code"
              aria-label={texts.code}
              className="text-[2rem]! leading-tight font-semibold tracking-wide"
            >
              {pairingCode}
            </code>
            <CopyButton text={pairingCode} />
          </p>
          <p className="text-sm text-text-muted">
            {before}
            <LocalTime at={expiresAt} />
            {after}
          </p>
          <a href={pairingUri} className="text-sm text-accent hover:underline">
            {texts.openApp}
          </a>
        </div>
        <figure className="flex flex-col items-center gap-1">
          <QrCode text={pairingUri} label={texts.qrLabel} />
          <figcaption className="text-xs text-text-muted">{texts.qrHint}</figcaption>
        </figure>
      </div>
      <p className="mb-1 text-sm font-semibold">{texts.command}</p>
      <CommandLine line={pairingLine(pairingCode, hub, powers)} label={texts.command} />
      <p className="mt-1 text-sm text-text-muted">{texts.commandHint}</p>
      {isInsecure(hub) && <p className="mt-1 text-sm text-warning">{texts.insecure}</p>}
    </>
  );
}

/** Waits until a machine uses the code. */
function Waiting({
  pairing,
  onConnected,
  onRenew,
}: {
  pairing: Pairing;
  onConnected: (node: Node) => void;
  onRenew: () => void;
}) {
  const { words, format } = useLanguage();
  const texts = words.start;
  const isolate = useIsolate();
  const now = useNow();
  const { nodeId, expiresAt } = pairing;
  const { data: node, error } = useQuery(query('getAutomationNode', { params: { id: nodeId } }));
  useRereadOn(({ type, id }) => type === 'node' && id === nodeId, [['getAutomationNode']]);
  const isOnline = node?.status === 'online';
  useEffect(() => {
    if (isOnline) onConnected(node);
  }, [isOnline]);
  const isPaired = node !== undefined && node.pairedAt !== null;
  const name = node === undefined ? '' : isolate(visibleLine(node.name));
  if (!isPaired && Date.parse(expiresAt) <= now)
    return (
      <div className="flex flex-wrap items-center gap-3">
        <p role="status">{texts.expired}</p>
        <Button onClick={onRenew}>{texts.newCode}</Button>
      </div>
    );
  return (
    <>
      {!isPaired && <Code pairing={pairing} />}
      <ErrorNote error={error} />
      <div className="mt-4">
        <Progress isDone={isOnline}>
          {isOnline ? format(texts.connected, { name }) : isPaired ? format(texts.paired, { name }) : texts.waiting}
        </Progress>
      </div>
    </>
  );
}

/** Connects a machine: creates a code, shows how to use it, and waits until the machine is online. */
export function PairPanel({ onConnected }: { onConnected: (node: Node) => void }) {
  const [pairing, setPairing] = useState<Pairing | null>(null);
  if (pairing === null) return <PairForm onCreated={setPairing} />;
  return <Waiting key={pairing.nodeId} pairing={pairing} onConnected={onConnected} onRenew={() => setPairing(null)} />;
}
