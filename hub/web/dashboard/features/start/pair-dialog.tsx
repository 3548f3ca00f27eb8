import { useState } from 'react';
import type { Node } from '../../../../../shared/client/client.ts';
import { useWords } from '../../app/language.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PairPanel } from './pair-panel.tsx';

/** Connects a machine. It stays open after the machine is online, so that the user sees that it worked. */
export function PairDialog({ onClose }: { onClose: () => void }) {
  const { common, start: texts } = useWords();
  const [node, setNode] = useState<Node | null>(null);
  return (
    <Dialog title={texts.pairTitle} onClose={onClose}>
      <PairPanel onConnected={setNode} />
      {node !== null && (
        <div className="mt-4 flex justify-end gap-2">
          <ButtonLink to="/nodes/$nodeId/{-$tab}" params={{ nodeId: node.id }}>
            {texts.openNode}
          </ButtonLink>
          <Button variant="primary" onClick={onClose}>
            {common.done}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
