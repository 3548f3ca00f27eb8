; An update removes the old version, too, and must leave the pairing alone.
!macro customUnInstall
  ${ifNot} ${isUpdated}
    ExecWait '"$INSTDIR\${APP_EXECUTABLE_FILENAME}" --unpair'
  ${endIf}
!macroend
